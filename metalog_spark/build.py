"""Fills the tables of a pipeline's folder: from a metadata log, audit logs and a configuration.

New input is added to the folder's rows. A file that was read before replaces its earlier rows; rows
of other files stay. ``known_files`` recognizes files. A build decides new requests. It also decides
earlier requests again, from the time at which the log or the configuration differs from the earlier
one. A build commits atomically, at its end. This module must not know where Spark runs, nor how
anything is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.audit.layouts import Zone
from authorizer.kafka_version import version_for
from metalog.text.plurals import counted as counted_words
from metalog_spark.coverage.coverage import counted, counted_before, covered
from metalog_spark.coverage.usage import added_up, usage
from metalog_spark.decide.invalidation import deciding_by, deciding_in, differ_from
from metalog_spark.history.changelog import check_log, read_changelog, replace_changelog
from metalog_spark.history.configuration import Configuration
from metalog_spark.history.state import packed_rows
from metalog_spark.ingest.audit_preflight import no_audit_line
from metalog_spark.ingest.audit_source import listed
from metalog_spark.ingest.audit_tables import refuse_parquet, table_name
from metalog_spark.ingest.file_context import broken_lines
from metalog_spark.ingest.file_facts import (
    FileFacts,
    FilesRead,
    any_of,
    days_of,
    left_out,
    no_facts,
)
from metalog_spark.ingest.known_files import ClassifiedFiles, after, sorted_out, unread
from metalog_spark.ingest.lines.line_forms import FORMS, Shown, as_read, divided, earliest, is_half
from metalog_spark.ingest.requests import READ, possible_of, rejected_of, requests_of
from metalog_spark.ingest.set_back import SET_BACK, joined
from metalog_spark.staging import AuditInput, Decider, Staged, stage
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.refusals import check_is_built
from metalog_spark.store.table_store import placed
from metalog_spark.store.tables import (
    CONFIGURATION,
    COVERAGE,
    DECISIONS,
    FILES,
    POSSIBLE,
    REJECTED,
    REQUESTS,
    USAGE,
    TableSchema,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from metalog_spark.history.archive import Logs
    from metalog_spark.store.table_store import Tables

_NAMED: Final = "file STRING, name STRING, is_named BOOLEAN"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Days = frozenset[date]


class BuildInputs(NamedTuple):
    """The input of a build. ``audit`` are paths and patterns of audit files as Spark takes them,
    ``requests`` are Parquet tables, and ``tables`` are tables that ``audit_tables`` reads."""

    log: Logs
    configuration: Configuration
    zone: Zone
    audit: Sequence[str] = ()
    requests: Sequence[str] = ()
    broker_from: re.Pattern[str] | None = None
    skip_damaged: bool = False
    tables: Sequence[str] = ()

    @property
    def every_table(self) -> list[str]:
        return [*self.requests, *self.tables]


def check(given: BuildInputs) -> None:
    """Refuse input that cannot be built, with the checks that need no Spark."""
    check_log(given.log, skip_damaged=given.skip_damaged)


def build(
    tables: Tables,
    given: BuildInputs,
    *,
    at: Callable[[str], None],
    warn: Callable[[str], None] = lambda line: None,
) -> FilesRead:
    """Fill every table from input that passed ``check``. ``at`` is called with each step's name,
    ``warn`` with warnings about the log."""
    check_is_built(tables.path, tables.contents)
    given = given._replace(
        requests=list(dict.fromkeys(map(placed, given.requests))),
        tables=list(dict.fromkeys(map(table_name, given.tables))),
    )
    at("looking for audit files")
    known = tables.read(FILES) if tables.has(FILES) else None
    files = unread(listed(tables.session, given.audit), known)
    refuse_parquet(map(str, files["path"]))
    at("reading the metadata log")
    *log, level = read_changelog(
        tables.session, given.log, skip_damaged=given.skip_damaged, warn=warn
    )
    given = given._replace(configuration=given.configuration.deciding_as(version_for(level)))
    with tables.at_once():
        return _fill(tables, given, files, (log[0], log[1]), at)


def _fill(
    tables: Tables,
    given: BuildInputs,
    files: pa.Table,
    log: tuple[pa.Table, pa.Table],
    at: Callable[[str], None],
) -> FilesRead:
    decider = Decider(packed_rows(*log), given.configuration)
    at(f"reading {counted_words(files.num_rows, 'audit file')}, and deciding")
    audit = AuditInput(files, given.requests, given.tables, given.zone, given.broker_from)
    staged = stage(tables, audit, decider) if files.num_rows or given.every_table else None
    is_new = not tables.has(DECISIONS)
    if is_new and not given.requests:
        _check_has_lines(staged, given.tables)
    stale = None if is_new else _stale_days(tables, log, given.configuration)
    replace_changelog(tables, *log)
    tables.replace(CONFIGURATION, given.configuration.rows(tables.session))
    at("putting requests with those of other builds")
    taken = _take(tables, given, staged, decider, stale or frozenset())
    at("counting what brokers logged")
    hours = None if staged is None else staged.hours(taken.same)
    _cover(tables, taken.touched, taken.fresh, hours)
    at("counting uses")
    every = taken.touched | (stale or frozenset())
    _put(tables, USAGE, _usage(tables, staged, taken.fresh, every), None if is_new else every)
    return taken.files_read


def _stale_days(
    tables: Tables, log: tuple[pa.Table, pa.Table], configuration: Configuration
) -> Days:
    """The days with requests whose decision may have changed."""
    moment = differ_from(deciding_in(tables), deciding_by(*log, configuration.table()))
    if moment is None:
        return frozenset()
    first = (_EPOCH + timedelta(microseconds=moment)).date()
    return frozenset(day for day in _days_with_requests(tables) if day >= first)


def _days_with_requests(tables: Tables) -> Days:
    return _days(tables.read(COVERAGE).where("allowed + denied > 0"))


def _take(
    tables: Tables,
    given: BuildInputs,
    staged: Staged | None,
    decider: Decider,
    stale: Days,
) -> _Taken:
    """Update DECISIONS, POSSIBLE and REJECTED: the new rows replace rows that are superseded, and
    requests of ``stale`` days are decided again."""
    session, is_new = tables.session, not tables.has(DECISIONS)
    known, old = tables.read(FILES), tables.read(REQUESTS)
    files, of_tables = (no_facts(), {}) if staged is None else (staged.files, staged.facts)
    of_tables = {**dict.fromkeys(given.every_table, FileFacts()), **of_tables}
    found = sorted_out(files, None if is_new else known)
    shown_before = tables.facts.get(FORMS, {})
    read = _Lines.of(session, staged, found, shown_before)
    names = [each.file for each in found.gone] + given.every_table
    gone = frame_of(session, [(name,) for name in names], "file STRING")
    touched = days_of(left_out(files, found.same))
    touched.update(*(each.days for each in of_tables.values()), *(each.days for each in found.gone))
    anew = read.odd_days() | stale
    if not is_new:
        if given.every_table:
            touched |= _days(old.join(gone, "file", "left_semi"))
        if read.shown != shown_before:
            touched |= _days(old.where(is_half(read.shown)))
        anew |= touched & _days_with_requests(tables)
    anew |= days_of(files, [path for path, _ in found.names()])
    again = [read.resolved(_left(old.where(_is_of(anew)), gone), anew)] if anew else []
    if staged is not None or is_new:
        for table, of in (REJECTED, rejected_of), (POSSIBLE, possible_of):
            before = [] if is_new else [_left(tables.read(table), gone)]
            tables.replace(table, _all(*before, *map(of, [read.rows, *again])))
        tables.replace(FILES, after(files, found, known))
        tables.state(**{FORMS: read.shown})
    if staged is not None and (back := staged.set_back(found.same)):
        tables.state(**{SET_BACK: joined(tables.facts.get(SET_BACK, {}), back)})
    if staged is not None and (is_new or touched - anew):
        tables.put(DECISIONS, staged.place, touched - anew)
    if anew or not tables.has(DECISIONS):
        rows = requests_of(_all(*again) if again else frame_of(session, [], READ))
        _put(tables, DECISIONS, decider.of(rows), frozenset(anew))
    every = FilesRead(files, of_tables, found.same)
    return _Taken(every, found.same, frozenset(touched | anew), frozenset(touched - anew))


class _Taken(NamedTuple):
    """The input that was taken in. ``files_read`` are facts about the files. ``same`` has the paths
    of files that are left out. ``touched`` are the changed days; on the ``fresh`` days among them,
    all rows are new."""

    files_read: FilesRead
    same: Collection[str]
    touched: Days
    fresh: Days


class _Lines(NamedTuple):
    """The staged lines: ``rows`` of ``requests.READ`` under their files' names in the tables, the
    line forms ``shown`` so far, whether a request ``lacks_rule``, and the ``broken`` lines."""

    rows: DataFrame
    shown: Shown
    lacks_rule: bool
    broken: DataFrame | None

    @classmethod
    def of(
        cls,
        session: SparkSession,
        staged: Staged | None,
        found: ClassifiedFiles,
        shown: Shown,
    ) -> _Lines:
        if staged is None:
            return cls(frame_of(session, [], READ), shown, False, None)
        rows = _called(staged.read(), found)
        files = left_out(staged.files, found.same)
        lacks_rule = staged.lacks_rule or any_of(files, "lacks_rule")
        may_be_broken = lacks_rule and any_of(files, "has_end", "is_cut")
        shown = earliest(shown, staged.forms(found.same))
        return cls(rows, shown, lacks_rule, broken_lines(rows) if may_be_broken else None)

    def odd_days(self) -> Days:
        """The days with half lines that look complete: only other lines show that they are
        halves."""
        if not self.lacks_rule:
            return frozenset()
        requests = requests_of(self.rows)
        days = _days(requests.where(is_half(self.shown)))
        if self.broken is not None:
            days |= _days(requests.join(self.broken, ["file", "line"], "left_semi"))
        return days

    def resolved(self, others: DataFrame, days: Collection[date]) -> DataFrame:
        """The requests of ``days``, together with ``others`` (rows of REQUESTS); half lines are
        rejected."""
        own = requests_of(self.rows).where(_is_of(days))
        return divided(as_read(own.unionByName(others)), self.shown, self.broken)


def _all(*rows: DataFrame) -> DataFrame:
    return reduce(lambda one, more: one.unionByName(more), rows)


def _check_has_lines(staged: Staged | None, tables: Sequence[str]) -> None:
    """Refuse input that makes a new folder without any request.

    Raises:
        InvalidRequest: no input has a request.
    """
    if staged is not None and not staged.has_lines:
        raise no_audit_line([*staged.files["path"].to_pylist(), *tables])


def _left(rows: DataFrame, gone: DataFrame) -> DataFrame:
    return rows.join(gone, "file", "left_anti")


def _called(read: DataFrame, found: ClassifiedFiles) -> DataFrame:
    """The rows of ``read`` without files that are left out, and with renamed files under their new
    names."""
    from pyspark.sql import functions as f

    names = found.names()
    if not names:
        return read
    named = frame_of(read.sparkSession, [(*each, True) for each in names], _NAMED)
    rows = read.join(f.broadcast(named), "file", "left")
    rows = rows.where("is_named IS NULL OR name IS NOT NULL")
    return rows.withColumn("file", f.coalesce("name", "file")).select(*read.columns)


def _cover(
    tables: Tables, touched: Days, fresh: Days = frozenset(), hours: DataFrame | None = None
) -> None:
    """Fill COVERAGE for the days ``touched``.

    ``hours`` are counts for the ``fresh`` days; other days are counted again. Days of an older
    version, which did not look for controllers, are also counted again.
    """
    before = tables.read(COVERAGE)
    touched |= _days(before.where("controller IS NULL"))
    kept = counted_before(before.where(~_is_of(touched)))
    counts = [kept]
    if again := touched - fresh:
        counts.append(counted(tables.read(REQUESTS).where(_is_of(again))))
    if hours is not None and fresh:
        counts.append(hours.where(_is_of(fresh, "to_date(hour)")))
    tables.replace(COVERAGE, covered(_all(*counts)))


def _usage(tables: Tables, staged: Staged | None, fresh: Days, days: Days) -> DataFrame:
    """The rows of USAGE for ``days``. Most of the ``fresh`` days were counted while they were
    read."""
    done = frozenset() if staged is None else fresh - staged.uncounted()
    rows = []
    if (others := days - done) or not done:
        rows.append(usage(tables.read(DECISIONS).where(_is_of(others))))
    if staged is not None and done:
        rows.append(added_up(staged.usage().where(_is_of(done))))
    return _all(*rows)


def _put(tables: Tables, table: TableSchema, rows: DataFrame, days: Days | None) -> None:
    """Replace the table, or ``days`` of it, by ``rows``."""
    if days is None:
        tables.replace(table, rows)
    else:
        tables.replace_days(table, rows, days)


def _days(rows: DataFrame) -> Days:
    return frozenset(row.day for row in rows.select("day").distinct().collect())


def _is_of(days: Collection[date], day: str = "day") -> Column:
    from pyspark.sql import functions as f

    return f.expr(day).isin(sorted(days))

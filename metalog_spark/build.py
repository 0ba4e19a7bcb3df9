"""Fills the tables of a pipeline's folder from a metadata log, audit logs and a configuration.

A build adds the rows of new input. A file's rows replace the rows of the earlier file that it
continues. An input table's rows replace the table's earlier rows. A build decides an earlier day
again if the day's rows change, or if a new log or configuration can change the day's decisions.
A build commits atomically. This module must not know where Spark runs, nor how anything is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.audit.layouts import Zone
from authorizer.kafka_version import version_for
from metalog.text.plurals import counted as counted_words
from metalog_spark.coverage.coverage import added_up, counted, counted_before, covered, usage
from metalog_spark.decide.invalidation import deciding_by, deciding_in, stale_days
from metalog_spark.history.changelog import check_log, read_changelog, replace_changelog
from metalog_spark.history.configuration import Configuration
from metalog_spark.history.state import packed_rows
from metalog_spark.ingest.audit_preflight import no_audit_line
from metalog_spark.ingest.audit_source import listed
from metalog_spark.ingest.audit_tables import refuse_parquet, table_name
from metalog_spark.ingest.file_context import broken_lines
from metalog_spark.ingest.file_facts import (
    FACTS,
    FileFacts,
    FilesRead,
    KeptFacts,
    days_at,
    files_read,
    files_without,
    kept_facts,
)
from metalog_spark.ingest.file_groups import FileGroups
from metalog_spark.ingest.file_matching import ClassifiedFiles, classified, files_after, unread
from metalog_spark.ingest.lines.line_forms import FORMS, Forms, as_read, divided, earliest, is_half
from metalog_spark.ingest.requests import READ, possible_of, rejected_of, requests_of
from metalog_spark.ingest.set_back import SET_BACK, joined
from metalog_spark.staging import AuditInput, Decider, Staged, read_tables, stage
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.refusals import check_is_not_followed
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

Days = frozenset[date]


class BuildInputs(NamedTuple):
    """``audit`` has paths and patterns of audit files. ``requests`` has paths of Parquet tables.
    ``tables`` has names of other tables, of requests or of audit lines. ``broker_from`` finds a
    broker's name in a path. ``zone`` is for times without a zone."""

    log: Logs
    configuration: Configuration
    zone: Zone
    audit: Sequence[str] = ()
    requests: Sequence[str] = ()
    broker_from: re.Pattern[str] | None = None
    skip_damaged: bool = False
    tables: Sequence[str] = ()

    @property
    def input_tables(self) -> list[str]:
        return [*self.requests, *self.tables]


def check(inputs: BuildInputs) -> None:
    """Check the metadata log, without Spark."""
    check_log(inputs.log, skip_damaged=inputs.skip_damaged)


def build(
    tables: Tables,
    inputs: BuildInputs,
    *,
    on_step: Callable[[str], None],
    warn: Callable[[str], None] = lambda line: None,
) -> FilesRead:
    """Fill the tables from ``inputs``, which ``check`` must have accepted. ``on_step`` gets the
    name of each step, ``warn`` each warning about the log."""
    check_is_not_followed(tables.path, tables.contents)
    inputs = inputs._replace(
        requests=list(dict.fromkeys(map(placed, inputs.requests))),
        tables=list(dict.fromkeys(map(table_name, inputs.tables))),
    )
    on_step("reading the metadata log")
    *log, level = read_changelog(
        tables.session, inputs.log, skip_damaged=inputs.skip_damaged, warn=warn
    )
    inputs = inputs._replace(configuration=inputs.configuration.with_default(version_for(level)))
    on_step("looking for audit files")
    audit = _audit_input(tables, inputs)
    with tables.one_commit():
        return _fill(tables, inputs, audit, (log[0], log[1]), on_step)


def _audit_input(tables: Tables, inputs: BuildInputs) -> AuditInput:
    session, how = tables.session, (inputs.zone, inputs.broker_from)
    by_table = read_tables(session, inputs.requests, inputs.tables, *how)
    known = tables.read(FILES) if tables.has(FILES) else None
    files = FileGroups.of(tables, unread(listed(session, inputs.audit), known))
    refuse_parquet(files)
    return AuditInput(files, by_table, inputs.input_tables, *how)


def _fill(
    tables: Tables,
    inputs: BuildInputs,
    audit: AuditInput,
    log: tuple[pa.Table, pa.Table],
    on_step: Callable[[str], None],
) -> FilesRead:
    decider = Decider(packed_rows(*log), inputs.configuration)
    files = audit.files.file_count
    on_step(f"reading {counted_words(files, 'audit file')}, and deciding")
    staged = stage(tables, audit, decider) if files or audit.tables else None
    is_new = not tables.has(DECISIONS)
    new = _NewInput.of(staged, None if is_new else tables.read(FILES), inputs.input_tables)
    if is_new and staged is not None and not inputs.requests and not new.has_lines:
        named = new.files_read().named
        raise no_audit_line(named[0].file, len(named))
    filled = frozenset() if is_new else _days(tables.read(COVERAGE).where("allowed + denied > 0"))
    stale = None if is_new else _stale_days(tables, log, inputs.configuration, filled)
    replace_changelog(tables, *log)
    tables.replace(CONFIGURATION, inputs.configuration.rows(tables.session))
    on_step("adding the requests to the tables")
    changed = _add_requests(tables, inputs, new, decider, filled, stale or frozenset())
    on_step("counting what brokers logged")
    hours = None if staged is None else staged.hours(new.found.same)
    _cover(tables, changed.touched, changed.fresh, hours)
    on_step("counting uses")
    days = changed.touched | (stale or frozenset())
    _put(tables, USAGE, _usage(tables, staged, changed.fresh, days), None if is_new else days)
    return new.files_read()._replace(
        nothing_new=bool(inputs.audit) and not files and not is_new, days_again=len(days & filled)
    )


class _NewInput(NamedTuple):
    """``kept`` has the facts about the files that are not left out, ``tables`` about each input
    table."""

    staged: Staged | None
    found: ClassifiedFiles
    kept: KeptFacts
    tables: Mapping[str, FileFacts]

    @classmethod
    def of(cls, staged: Staged | None, known: DataFrame | None, tables: Iterable[str]) -> _NewInput:
        if staged is None:
            return cls(None, ClassifiedFiles({}, {}, ()), KeptFacts(), {})
        found = classified(staged.files, known)
        kept = kept_facts(files_without(staged.files, found.same))
        of_tables = {**dict.fromkeys(tables, FileFacts()), **staged.facts}
        return cls(staged, found, kept, of_tables)

    @property
    def has_lines(self) -> bool:
        return any(
            (self.kept.lines, *(each.requests + each.broken for each in self.tables.values()))
        )

    def days(self) -> set[date]:
        return set().union(self.kept.days, *(each.days for each in self.tables.values()))

    def days_to_correct(self) -> set[date]:
        """The days of the files that are left out, and of the files that get a new name."""
        if self.staged is None:
            return set()
        return days_at(self.staged.files, [path for path, _ in self.found.names()])

    def files_read(self) -> FilesRead:
        if self.staged is None:
            return FilesRead((), ())
        return files_read(self.staged.files, self.found.same, self.tables)


def _stale_days(
    tables: Tables, log: tuple[pa.Table, pa.Table], configuration: Configuration, days: Days
) -> Days:
    now = deciding_by(*log, configuration.table())
    return stale_days(deciding_in(tables), now, days)


def _add_requests(
    tables: Tables, inputs: BuildInputs, new: _NewInput, decider: Decider, filled: Days, stale: Days
) -> _ChangedDays:
    """Update DECISIONS, POSSIBLE, REJECTED and FILES. ``filled`` has the days with requests of
    earlier builds. ``stale`` days are decided again."""
    session, is_new = tables.session, not tables.has(DECISIONS)
    staged, found, old = new.staged, new.found, tables.read(REQUESTS)
    forms_before = tables.facts.get(FORMS, {})
    read = _Lines.of(session, new, forms_before)
    names = [each.file for each in found.gone] + inputs.input_tables
    gone = frame_of(session, [(name,) for name in names], "file STRING")
    touched = new.days().union(*(each.days for each in found.gone))
    redecided = read.odd_days() | stale
    if not is_new:
        if inputs.input_tables:
            touched |= _days(old.join(gone, "file", "left_semi"))
        if read.forms != forms_before:
            touched |= _days(old.where(is_half(read.forms)))
        redecided |= touched & filled
    redecided |= new.days_to_correct()
    again = (
        [read.resolved(_not_of(old.where(_is_of(redecided)), gone), redecided)] if redecided else []
    )
    if staged is not None or is_new:
        for table, of in (REJECTED, rejected_of), (POSSIBLE, possible_of):
            before = [] if is_new else [_not_of(tables.read(table), gone)]
            tables.replace(table, _union(*before, *map(of, [read.rows, *again])))
        files = frame_of(session, [], FACTS) if staged is None else staged.files
        tables.replace(FILES, files_after(files, found, tables.read(FILES)))
        tables.store_facts(**{FORMS: read.forms})
    if new.kept.set_back:
        tables.store_facts(**{SET_BACK: joined(tables.facts.get(SET_BACK, {}), new.kept.set_back)})
    if staged is not None and (is_new or touched - redecided):
        tables.put(DECISIONS, staged.place, touched - redecided)
    if redecided or not tables.has(DECISIONS):
        rows = requests_of(_union(*again) if again else frame_of(session, [], READ))
        _put(tables, DECISIONS, decider.of(rows), frozenset(redecided))
    return _ChangedDays(frozenset(touched | redecided), frozenset(touched - redecided))


class _ChangedDays(NamedTuple):
    """``touched`` has the days whose rows this build writes or removes. ``fresh`` has the touched
    days that were not decided again."""

    touched: Days
    fresh: Days


class _Lines(NamedTuple):
    """``rows`` has the staged lines as rows of ``requests.READ``. ``forms`` has the line forms of
    this and of earlier builds."""

    rows: DataFrame
    forms: Forms
    lacks_rule: bool
    broken: DataFrame | None

    @classmethod
    def of(cls, session: SparkSession, new: _NewInput, forms: Forms) -> _Lines:
        staged, kept = new.staged, new.kept
        if staged is None:
            return cls(frame_of(session, [], READ), forms, False, None)
        rows = _with_names(staged.read(), new.found)
        lacks_rule = staged.lacks_rule or kept.lacks_rule
        may_be_broken = lacks_rule and kept.may_be_broken
        forms = earliest(forms, staged.forms, kept.forms)
        return cls(rows, forms, lacks_rule, broken_lines(rows) if may_be_broken else None)

    def odd_days(self) -> Days:
        """The days of staged requests that other lines show to be broken or ambiguous."""
        if not self.lacks_rule:
            return frozenset()
        requests = requests_of(self.rows)
        days = _days(requests.where(is_half(self.forms)))
        if self.broken is not None:
            days |= _days(requests.join(self.broken, ["file", "line"], "left_semi"))
        return days

    def resolved(self, others: DataFrame, days: Collection[date]) -> DataFrame:
        """``others``, and the staged requests of ``days``. Half lines become rejected lines."""
        own = requests_of(self.rows).where(_is_of(days))
        return divided(as_read(own.unionByName(others)), self.forms, self.broken)


def _union(*rows: DataFrame) -> DataFrame:
    return reduce(lambda one, more: one.unionByName(more), rows)


def _not_of(rows: DataFrame, gone: DataFrame) -> DataFrame:
    return rows.join(gone, "file", "left_anti")


def _with_names(read: DataFrame, found: ClassifiedFiles) -> DataFrame:
    """The rows of ``read``, without the files that are left out. A renamed file has its new name,
    such as ``PATH (2)``."""
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
    """Update COVERAGE for the days ``touched``. ``hours`` has the counts of the ``fresh`` days.
    The other days are counted again."""
    counts = [counted_before(tables.read(COVERAGE).where(~_is_of(touched)))]
    if again := touched - fresh:
        counts.append(counted(tables.read(REQUESTS).where(_is_of(again))))
    if hours is not None and fresh:
        counts.append(hours.where(_is_of(fresh, "to_date(hour)")))
    tables.replace(COVERAGE, covered(_union(*counts)))


def _usage(tables: Tables, staged: Staged | None, fresh: Days, days: Days) -> DataFrame:
    """Workers have already counted most ``fresh`` days."""
    done = frozenset() if staged is None else fresh - staged.uncounted()
    rows = []
    if (others := days - done) or not done:
        rows.append(usage(tables.read(DECISIONS).where(_is_of(others))))
    if staged is not None and done:
        rows.append(added_up(staged.usage().where(_is_of(done))))
    return _union(*rows)


def _put(tables: Tables, table: TableSchema, rows: DataFrame, days: Days | None) -> None:
    if days is None:
        tables.replace(table, rows)
    else:
        tables.replace_days(table, rows, days)


def _days(rows: DataFrame) -> Days:
    return frozenset(row.day for row in rows.select("day").distinct().collect())


def _is_of(days: Collection[date], day: str = "day") -> Column:
    from pyspark.sql import functions as f

    return f.expr(day).isin(sorted(days))

"""Fills the tables of a pipeline's folder: from a metadata log, audit logs and a configuration.

What is given now is added to what the folder has. Rows of a file that is given again are
replaced, those of files that are not given stay; which file is which, ``known_files`` tells.
Requests are decided again where they are new, and from where on the log or the configuration
says otherwise than it did. A build commits atomically, at its end.
This module must not know where Spark runs, nor how anything is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.audit.layouts import Zone
from authorizer.kafka_version import version_for
from metalog.plurals import counted as counted_words
from metalog_spark.coverage.coverage import counted, counted_before, covered
from metalog_spark.coverage.usage import usage
from metalog_spark.decide.decide_job import decided
from metalog_spark.decide.invalidation import deciding_by, deciding_in, differ_from
from metalog_spark.history.changelog import check_log, fill_changelog
from metalog_spark.history.configuration import Configuration
from metalog_spark.history.state import packed_rows
from metalog_spark.ingest.audit_preflight import no_audit_line
from metalog_spark.ingest.audit_source import listed, read_audit
from metalog_spark.ingest.file_context import resolved
from metalog_spark.ingest.file_facts import FileFacts, FileRead, facts_of
from metalog_spark.ingest.known_files import (
    ClassifiedFiles,
    ListedFile,
    ReadFile,
    after,
    sorted_out,
    unread,
)
from metalog_spark.ingest.line_forms import FORMS, as_read, divided, is_half
from metalog_spark.ingest.requests import (
    possible_of,
    read_table,
    rejected_of,
    requests_of,
)
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.table_store import check_is_built, placed
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
    from pyspark.sql import Column, DataFrame

    from metalog_spark.history.archive import Logs
    from metalog_spark.store.table_store import Tables

_NAMED: Final = "file STRING, name STRING, is_named BOOLEAN"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Days = frozenset[date]
Files = Mapping[str, ListedFile]
"""Those to be read, by their paths."""


class BuildInputs(NamedTuple):
    """What a build reads; ``audit`` names files as Spark does, ``requests`` are Parquet tables."""

    log: Logs
    configuration: Configuration
    zone: Zone
    audit: Sequence[str] = ()
    requests: Sequence[str] = ()
    broker_from: re.Pattern[str] | None = None
    skip_damaged: bool = False


class _Lines(NamedTuple):
    """What was read: ``rows`` of ``requests.READ``, of which ``files``, and the ``facts`` of
    each."""

    rows: DataFrame
    files: Files
    facts: Mapping[str, FileFacts]


def check(given: BuildInputs) -> None:
    """Looks at what is given, and refuses what shows without Spark that it cannot be built."""
    check_log(given.log, skip_damaged=given.skip_damaged)


def build(
    tables: Tables,
    given: BuildInputs,
    *,
    at: Callable[[str], None],
    warn: Callable[[str], None] = lambda line: None,
) -> list[FileRead]:
    """Fills every table from what ``check`` let pass; ``at`` is told what is being done, ``warn``
    what is odd about the log."""
    from pyspark import StorageLevel

    check_is_built(tables.path, tables.contents)
    given = given._replace(requests=list(dict.fromkeys(map(placed, given.requests))))
    at("looking for audit files")
    found = listed(tables.session, given.audit)
    files = {each.path: each for each in unread(found, tables.read(FILES))}
    lines = _read(tables, given, list(files)).persist(StorageLevel.DISK_ONLY)
    try:
        at(f"reading {counted_words(len(files), 'audit file')}")
        facts = facts_of(lines)
        if not tables.has(REQUESTS) and not given.requests:
            _check_has_lines(facts, files)
        with tables.at_once():
            return _fill(tables, given, _Lines(lines, files, facts), at, warn)
    finally:
        lines.unpersist()


def _fill(
    tables: Tables,
    given: BuildInputs,
    lines: _Lines,
    at: Callable[[str], None],
    warn: Callable[[str], None],
) -> list[FileRead]:
    before = deciding_in(tables) if tables.has(DECISIONS) else None
    at("reading the metadata log")
    lives, history, given = _log(tables, given, warn)
    at("putting requests with those of other builds")
    told, touched = _take(tables, given, lines)
    at("counting what brokers logged")
    _cover(tables, None if before is None else touched)
    if before is not None:
        now = deciding_by(lives, history, given.configuration.table())
        touched |= _days_from(tables, differ_from(before, now))
    at(f"deciding the requests of {counted_words(len(touched), 'day')}")
    state = packed_rows(lives, history)
    _decide(tables, state, given.configuration, None if before is None else touched)
    return told


def _days_from(tables: Tables, moment: int | None) -> Days:
    """The days with requests from ``moment`` on, microseconds since 1970; None is never."""
    if moment is None:
        return frozenset()
    first = (_EPOCH + timedelta(microseconds=moment)).date()
    covered = tables.read(COVERAGE).where("allowed + denied > 0")
    return frozenset(day for day in _days(covered) if day >= first)


def _log(
    tables: Tables, given: BuildInputs, warn: Callable[[str], None]
) -> tuple[pa.Table, pa.Table, BuildInputs]:
    """Rows of ACL_CHANGELOG and of HISTORY, and what is given, with the Kafka that the log says
    decides where nothing else does."""
    lives, history, level = fill_changelog(
        tables, given.log, skip_damaged=given.skip_damaged, warn=warn
    )
    given = given._replace(configuration=given.configuration.deciding_as(version_for(level)))
    tables.replace(CONFIGURATION, given.configuration.rows(tables.session))
    return lives, history, given


def _take(tables: Tables, given: BuildInputs, lines: _Lines) -> tuple[list[FileRead], Days]:
    """REQUESTS, POSSIBLE and REJECTED with what is given, in place of the rows that give way to
    it; and the days whose requests are not what they were."""
    session, known = tables.session, tables.read(FILES)
    told = {**dict.fromkeys([*lines.files, *given.requests], FileFacts()), **lines.facts}
    read_files = [ReadFile(each, *told[path].sorted_by) for path, each in lines.files.items()]
    found = sorted_out(read_files, known)
    shown_before = tables.facts.get(FORMS, {})
    read, shown = resolved(_called(lines.rows, found), shown_before)
    requests, rejected, possible = requests_of(read), rejected_of(read), possible_of(read)
    touched = {day for path, each in told.items() for day in each.days if path not in found.same}
    touched.update(day for each in found.gone for day in each.days)
    if tables.has(REQUESTS):
        old = tables.read(REQUESTS)
        names = [each.file for each in found.gone] + list(given.requests)
        gone = frame_of(session, [(name,) for name in names], "file STRING")
        if given.requests:
            touched |= _days(old.join(gone, "file", "left_semi"))
        if shown != shown_before:
            touched |= _days(old.where(is_half(shown)))
        kept = divided(as_read(_left(old.where(_is_of(touched)), gone)), shown)
        requests = requests.unionByName(requests_of(kept))
        rejected = rejected.unionByName(_left(tables.read(REJECTED), gone))
        rejected = rejected.unionByName(rejected_of(kept))
        possible = possible.unionByName(_left(tables.read(POSSIBLE), gone))
        possible = possible.unionByName(possible_of(kept))
    days = frozenset(touched)
    if told or not tables.has(REQUESTS):
        tables.replace(REJECTED, rejected)
        tables.replace(POSSIBLE, possible)
        _put(tables, REQUESTS, requests, days if tables.has(REQUESTS) else None)
        tables.replace(FILES, after(read_files, found, known))
        tables.state(**{FORMS: shown})
    return [each.told(path, found.same.get(path)) for path, each in sorted(told.items())], days


def _check_has_lines(facts: Mapping[str, FileFacts], files: Files) -> None:
    """``InvalidRequest`` where all that is given would make a folder without a request."""
    if not any(each.requests + each.broken for each in facts.values()) and files:
        raise no_audit_line([*files])


def _read(tables: Tables, given: BuildInputs, paths: Sequence[str]) -> DataFrame:
    """What is given now, as rows of ``requests.READ``."""
    read = read_audit(tables.session, paths, given.zone, given.broker_from)
    for path in given.requests:
        read = read.unionByName(read_table(tables.session, path))
    return read


def _left(rows: DataFrame, gone: DataFrame) -> DataFrame:
    return rows.join(gone, "file", "left_anti")


def _called(read: DataFrame, found: ClassifiedFiles) -> DataFrame:
    """``read`` without the files that are left out, and with the names that others have."""
    from pyspark.sql import functions as f

    names = found.names()
    if not names:
        return read
    named = frame_of(read.sparkSession, [(*each, True) for each in names], _NAMED)
    rows = read.join(f.broadcast(named), "file", "left")
    rows = rows.where("is_named IS NULL OR name IS NOT NULL")
    return rows.withColumn("file", f.coalesce("name", "file")).select(*read.columns)


def _cover(tables: Tables, touched: Days | None) -> None:
    """COVERAGE, counted anew for the days ``touched``, or for all; and for those that a version
    counted which did not look for controllers."""
    requests = tables.read(REQUESTS)
    if touched is None:
        counts = counted(requests)
    else:
        before = tables.read(COVERAGE)
        touched |= _days(before.where("controller IS NULL"))
        kept = counted_before(before.where(~_is_of(touched)))
        counts = counted(requests.where(_is_of(touched))).unionByName(kept)
    tables.replace(COVERAGE, covered(counts))


def _decide(tables: Tables, state: bytes, configuration: Configuration, stale: Days | None) -> None:
    def of(table: TableSchema) -> DataFrame:
        rows = tables.read(table)
        return rows if stale is None else rows.where(_is_of(stale))

    _put(tables, DECISIONS, decided(of(REQUESTS), state, configuration), stale)
    _put(tables, USAGE, usage(of(DECISIONS)), stale)


def _put(tables: Tables, table: TableSchema, rows: DataFrame, days: Days | None) -> None:
    """``rows`` are all that the table, or ``days`` of it, have from now on."""
    if days is None:
        tables.replace(table, rows)
    else:
        tables.replace_days(table, rows, days)


def _days(rows: DataFrame) -> Days:
    return frozenset(row.day for row in rows.select("day").distinct().collect())


def _is_of(days: Collection[date]) -> Column:
    from pyspark.sql import functions as f

    return f.col("day").isin(sorted(days))

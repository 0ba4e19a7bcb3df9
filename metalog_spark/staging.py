"""Reads a build's input, decides the requests, and writes all rows to a directory of DECISIONS that
is not in force yet.

To number the lines of a file with several splits, a first pass counts the lines of each split. If
the second pass finds other splits, both passes are repeated. This module must not know how the rows
are used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog_spark.coverage.coverage import COUNTED, counted
from metalog_spark.decide.decide_job import decided
from metalog_spark.decide.decide_lines import (
    COUNT,
    DAY,
    KIND,
    LAST_US,
    REASON,
    TEXT,
    ZONE,
    SideKind,
    decided_lines,
)
from metalog_spark.decide.decide_worker import deciding
from metalog_spark.decide.line_sums import HOUR_US, SUMS
from metalog_spark.ingest.audit_source import SPLITS, AuditFiles
from metalog_spark.ingest.audit_splits import file_at
from metalog_spark.ingest.audit_tables import read_audit_table
from metalog_spark.ingest.file_context import IS_CUT
from metalog_spark.ingest.file_facts import FACTS, FileFacts, facts_of
from metalog_spark.ingest.file_groups import FileGroup, FileGroups
from metalog_spark.ingest.lines.line_forms import Forms, as_read, forms_in
from metalog_spark.ingest.requests import read_table, requests_of
from metalog_spark.store.arrow import Mapped, frame_of
from metalog_spark.store.day_files import DayFiles
from metalog_spark.store.tables import DECISIONS, POSSIBLE, REQUESTS, USAGE, TableSchema

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from authorizer.audit.layouts import Zone
    from metalog_spark.history.configuration import Configuration
    from metalog_spark.store.table_store import Tables

_ATTEMPTS: Final = 3
_SMALL_BYTES: Final = 1 << 20
_LARGE_PART: Final = 256
"""A file with more than 1/256 of its group's bytes is large."""
_BEFORE: Final = (
    "sum(lines) OVER (PARTITION BY {} ORDER BY start ROWS BETWEEN UNBOUNDED PRECEDING AND 1"
    " PRECEDING) AS lines"
)
_DAYS: Final = "array_distinct(transform(hours, each -> date_from_unix_date(each[0] DIV 24)))"
_EPOCH: Final = date(1970, 1, 1)
_FACTS: Final = TableSchema("facts", FACTS)
_Splits = Sequence[tuple[str, int, int]]
"""Rows of ``SPLITS``."""
_LinesBefore = dict[tuple[str, int], int]
"""The number of lines before a split, by the split's file and start."""


class AuditInput(NamedTuple):
    """The audit input of a build. ``by_table`` is the result of ``read_tables``. ``zone`` and
    ``broker_from`` are options for reading lines."""

    files: FileGroups
    by_table: DataFrame | None
    tables: Sequence[str]
    zone: Zone
    broker_from: re.Pattern[str] | None


class Decider(NamedTuple):
    state: bytes
    configuration: Configuration

    def of(self, requests: DataFrame) -> DataFrame:
        return decided(requests, self.state, self.configuration)


class Staged(NamedTuple):
    """The written rows, in the directory ``place`` of DECISIONS.

    ``files`` has rows of ``FACTS``. Three fields describe the lines of the input tables: ``facts``
    (by table name), ``forms``, and ``lacks_rule`` (a line has no rule).
    """

    tables: Tables
    place: str
    files: DataFrame
    facts: Mapping[str, FileFacts]
    forms: Forms
    lacks_rule: bool

    def read(self) -> DataFrame:
        """The requests, rejected lines, possible times and splits, as rows of ``READ``."""
        rows = self.tables.staged(DECISIONS, self.place)
        side = rows.where("day IS NULL")
        requests = rows.where("day IS NOT NULL").select(*REQUESTS.columns)
        possible = _of_kind(side, SideKind.POSSIBLE).withColumnRenamed(ZONE, "zone")
        rejected = _of_kind(side, SideKind.REJECTED).selectExpr(
            "file", "line", f"{TEXT} AS text", f"{REASON} AS reason"
        )
        parts = [
            possible.selectExpr(*POSSIBLE.columns, "true AS possible"),
            rejected,
            _split_sums(side).select("file", "start", "lines", "bytes", "size"),
        ]
        read = as_read(requests)
        for part in parts:
            read = read.unionByName(part, allowMissingColumns=True)
        return read

    def hours(self, without: Collection[str]) -> DataFrame:
        """The result of ``coverage.counted``. ``without`` has the paths of files to leave out."""
        from pyspark.sql import functions as f

        session = self.tables.session
        sums = _split_sums(self.tables.staged(DECISIONS, self.place).where("day IS NULL"))
        if without:
            same = frame_of(session, [(path,) for path in without], "file STRING")
            sums = sums.join(f.broadcast(same), "file", "left_anti")
        hours = sums.selectExpr("broker", "explode(hours) AS each")
        counts = (f"each[{at}] AS {name}" for at, name in enumerate(COUNTED, 1))
        found = hours.selectExpr(
            "broker", f"timestamp_micros(each[0] * {HOUR_US}) AS hour", *counts
        )
        if self.facts:
            flags = (f"CAST({name} AS BIGINT) AS {name}" for name in COUNTED)
            by_table = requests_of(_of_files(self.read(), self.facts))
            more = counted(by_table).selectExpr("broker", "hour", *flags)
            found = found.unionByName(more)
        sums = found.groupBy("broker", "hour").agg(*(f.sum(name).alias(name) for name in COUNTED))
        return sums.withColumns({name: f.col(name) > 0 for name in COUNTED[3:]})

    def usage(self) -> DataFrame:
        """Rows of USAGE for ``coverage.added_up``, incomplete on the days in ``uncounted``."""
        side = self.tables.staged(DECISIONS, self.place).where("day IS NULL")
        sums = {
            "requests": COUNT,
            "first_time": "time",
            "last_time": f"timestamp_micros(CAST({LAST_US} AS BIGINT))",
            "day": "to_date(time)",
        }
        columns = (f"{sums.get(name, name)} AS {name}" for name in USAGE.columns)
        return _of_kind(side, SideKind.USAGE).selectExpr(*columns)

    def uncounted(self) -> frozenset[date]:
        """The days on which ``usage`` lacks requests."""
        side = self.tables.staged(DECISIONS, self.place).where("day IS NULL")
        rows = _of_kind(side, SideKind.UNCOUNTED).select(DAY).distinct().collect()
        days = {_EPOCH + timedelta(row[0]) for row in rows}
        return frozenset(days.union(*(each.days for each in self.facts.values())))


def read_tables(
    session: SparkSession,
    requests: Sequence[str],
    tables: Sequence[str],
    zone: Zone,
    broker_from: re.Pattern[str] | None,
) -> DataFrame | None:
    """The rows of all input tables as rows of ``requests.READ``; None without any table.
    ``requests`` are Parquet tables of requests. ``tables`` have requests or audit lines."""
    found = [read_table(session, path) for path in requests]
    found += [read_audit_table(session, name, zone, broker_from) for name in tables]
    return reduce(lambda one, more: one.unionByName(more), found) if found else None


def stage(tables: Tables, audit: AuditInput, decider: Decider) -> Staged:
    counted_groups = [group for group in audit.files.groups if _may_be_split(group)]
    for _ in range(_ATTEMPTS):
        before = _lines_before(tables.session, audit.files, counted_groups)
        place = tables.stage(DECISIONS, partial(_rows, tables.session, before, audit, decider))
        sums = _split_sums(tables.staged(DECISIONS, place).where("day IS NULL"))
        files = _facts(tables, sums, audit.files)
        if not before and files.where("is_split").first() is None:
            break
        if _found_before(sums) == {(file_at(path), start): lines for path, start, lines in before}:
            break
        counted_groups = [*audit.files.groups]
    else:
        raise InvalidRequest("the audit files changed while they were read: build again")
    staged = Staged(tables, place, files, {}, {}, False)
    if audit.by_table is None:
        return staged
    rows = _of_files(staged.read(), audit.tables)
    return Staged(tables, place, files, facts_of(rows), *forms_in(rows))


def _rows(
    session: SparkSession, before: _Splits, audit: AuditInput, decider: Decider, folder: Path | None
) -> Iterator[DataFrame]:
    """A frame for the input tables, then a frame for each group of files. The frames have rows of
    DECISIONS and side rows (``decide_lines``). With a ``folder``, workers write the rows of files
    there, and the frames of files are empty."""
    if audit.by_table is not None:
        yield _rows_of(audit.by_table, decider)
    numbers = frame_of(session, before, SPLITS) if before else None
    for group in audit.files.groups:
        files = AuditFiles(session, audit.files.paths(group))
        then = _deciding(decider, folder, group)
        yield files.read(audit.zone, audit.broker_from, then, DECISIONS.schema, numbers)


def _deciding(decider: Decider, folder: Path | None, group: FileGroup) -> Mapped:
    """A function that decides the lines of ``group`` in a worker."""
    state, periods = decider.state, decider.configuration.periods

    def decide(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = decided_lines(batches, deciding(state, periods))
        return rows if folder is None else _written(rows, folder, group)

    return decide


def _written(
    batches: Iterable[pa.RecordBatch], folder: Path, group: FileGroup
) -> Iterator[pa.RecordBatch]:
    from pyspark import TaskContext

    task = TaskContext.get()
    number = 0 if task is None else task.partitionId()
    files = DayFiles(folder, f"{group.number:05}-{number:05}", KIND)
    for batch in batches:
        files.add(batch)
    files.finish()
    yield from ()


def _rows_of(by_table: DataFrame, decider: Decider) -> DataFrame:
    """Decide the rows of ``requests.READ``. One pass also makes the side rows, because each pass
    parses all lines again."""
    rejected, possible = (f"'{kind}'" for kind in (SideKind.REJECTED, SideKind.POSSIBLE))
    is_request = "reason IS NULL AND possible IS NULL"
    of_side = {
        "file": "file",
        "line": "line",
        TEXT: f"CASE WHEN reason IS NULL THEN {TEXT} ELSE text END",
        REASON: f"CASE WHEN reason IS NOT NULL THEN reason WHEN possible THEN zone"
        f" ELSE {REASON} END",
        KIND: f"CASE WHEN reason IS NOT NULL THEN {rejected} WHEN possible THEN {possible}"
        f" ELSE {KIND} END",
        "day": f"CASE WHEN {is_request} THEN day END",
    }
    columns = (
        f"{of_side.get(name, f'CASE WHEN reason IS NULL THEN {name} END')} AS {name}"
        for name in REQUESTS.columns
    )
    return decider.of(by_table.selectExpr(*columns))


def _may_be_split(group: FileGroup) -> bool:
    """Whether a file probably has several splits. After a wrong guess, ``stage`` tries again."""
    return group.longest > max(_SMALL_BYTES, group.total // _LARGE_PART)


def _lines_before(session: SparkSession, files: FileGroups, groups: Iterable[FileGroup]) -> _Splits:
    """The number of lines before each split, except before the first split of a file."""
    found = []
    for group in groups:
        splits = AuditFiles(session, files.paths(group)).splits()
        rows = splits.selectExpr("path", "start", _BEFORE.format("path")).where("start > 0")
        found += [(row["path"], row["start"], row["lines"]) for row in rows.collect()]
    return found


def _of_files(rows: DataFrame, files: Iterable[str]) -> DataFrame:
    from pyspark.sql import functions as f

    return rows.where(f.col("file").isin(*files))


def _of_kind(side: DataFrame, kind: SideKind) -> DataFrame:
    return side.where(f"{KIND} = '{kind}'")


def _split_sums(side: DataFrame) -> DataFrame:
    sums = f"from_json({TEXT}, '{SUMS}') AS sums"
    return (
        _of_kind(side, SideKind.SPLIT)
        .selectExpr("file", "broker", sums)
        .select("file", "broker", "sums.*")
    )


def _found_before(sums: DataFrame) -> _LinesBefore:
    rows = sums.selectExpr("file", "start", _BEFORE.format("file")).where("start > 0")
    return {(row["file"], row["start"]): row["lines"] for row in rows.collect()}


def _facts(tables: Tables, sums: DataFrame, files: FileGroups) -> DataFrame:
    from pyspark.sql import functions as f

    found = (
        sums.groupBy("file")
        .agg(
            *(f.sum(name).alias(name) for name in ("requests", "not_audit", "broken")),
            f.min("why").alias("why"),
            f.max("fault").alias("fault"),
            f.sum("lines").alias("lines"),
            f.first(f.expr("CASE WHEN start = 0 THEN head END"), True).alias("heads"),
            f.array_distinct(f.flatten(f.collect_list(f.expr(_DAYS)))).alias("days"),
            f.first("broker").alias("broker"),
            *(f.min(name).alias(name) for name in ("request_us", "rule_us", "back_us")),
            *(f.bool_or(name).alias(name) for name in ("lacks_rule", "has_end")),
            f.expr(f"{IS_CUT} AS is_cut"),
            f.bool_or(f.col("start") > 0).alias("is_split"),
        )
        .withColumn("head", f.try_element_at("heads", f.lit(-1)))
    )
    listed = files.listed.withColumnRenamed("path", "file")
    joined = listed.join(found, "file", "left").withColumnRenamed("file", "path")
    return tables.aside(_FACTS, joined)

"""What brokers answered, as rows of REQUESTS, from files of audit lines or from a table.

A narrow job: a task reads one part of one file and hands on Arrow batches. Files are read
where the tasks run, so on a cluster they lie where driver and executors see them alike. Rows
come beside what was rejected, so that a file is read once for both. This module must
not know how a line is read, nor what becomes of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog_spark.arrow import frame_of
from metalog_spark.auditfiles import AuditFile, Part, count_lines, parts_of
from metalog_spark.session import errors_of_spark, first_line
from metalog_spark.tables import REQUESTS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from authorizer.audit_layout import Zone
    from metalog_spark.auditlog import Told

READ: Final = f"{REQUESTS.schema}, text STRING, reason STRING"
"""Rows of both tables: ``reason`` is null in those of REQUESTS."""
NEEDED: Final = (
    *("time", "principal", "host", "operation", "resource_type", "resource_name", "result"),
)
_LACKING: Final = f"one of {', '.join(NEEDED)} is null, or of another type"
_ODD: Final = "its result is neither ALLOWED nor DENIED"


class Named(NamedTuple):
    """A file, and the names that rows have of it and of its broker."""

    file: AuditFile
    name: str
    broker: str


def read_files(session: SparkSession, files: Sequence[Named], zone: Zone) -> DataFrame:
    """All lines of ``files``, rows of ``READ``; times without a zone are those of ``zone``."""
    told = _numbered(session, files)

    def read(task: int) -> Iterator[pa.RecordBatch]:
        from metalog_spark.auditlog import read_batches

        return read_batches(told[task], zone)

    return spread(session, len(told), read, READ)


def _numbered(session: SparkSession, files: Sequence[Named]) -> list[Told]:
    """The parts of ``files``, each with the number of its first line."""
    from metalog_spark.auditlog import Told

    parts = [parts_of(each.file) for each in files]
    lines = _counted(session, [part for of_file in parts for part in of_file[:-1]])
    told = []
    for each, of_file in zip(files, parts, strict=True):
        first = 1
        for part in of_file:
            told.append(Told(part, each.name, each.broker, first))
            first += lines.get(part, 0)
    return told


def _counted(session: SparkSession, parts: Sequence[Part]) -> dict[Part, int]:
    def count(task: int) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        yield pa.record_batch({"task": [task], "lines": [count_lines(parts[task])]})

    if not parts:
        return {}
    rows = spread(session, len(parts), count, "task BIGINT, lines BIGINT").collect()
    return {parts[row["task"]]: row["lines"] for row in rows}


def spread(
    session: SparkSession, tasks: int, work: Callable[[int], Iterator[pa.RecordBatch]], schema: str
) -> DataFrame:
    """What ``work`` yields for each number below ``tasks``, each in a task of its own."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from work(task)

    return session.range(0, tasks, 1, max(tasks, 1)).mapInArrow(run, schema)


def read_table(session: SparkSession, path: str) -> DataFrame:
    """The rows of a Parquet table with the columns of REQUESTS, as rows of ``READ``.

    It needs the columns that say what was asked and answered, and when. Of the others, where
    they are lacking or null, ``broker`` is the table's name, ``pattern_type`` LITERAL,
    ``ambiguous`` false, and the rest null.
    """
    from pyspark.sql import functions as f

    table = _parquet(session, path)
    lacking = [name for name in NEEDED if name not in table.columns]
    if lacking:
        raise InvalidRequest(f"{path}: no table of requests: it has no column {lacking[0]}")
    broker = path.rstrip("/").rpartition("/")[2].partition(".")[0]
    assumed = {"broker": broker, "pattern_type": "LITERAL", "ambiguous": False}
    columns = {
        field.name: (f.col(field.name) if field.name in table.columns else f.lit(None)).try_cast(
            field.dataType
        )
        for field in frame_of(session, [], REQUESTS.schema).schema
    }
    columns |= {name: f.coalesce(columns[name], f.lit(value)) for name, value in assumed.items()}
    columns |= {"file": f.lit(path), "day": f.to_date(columns["time"])}
    is_lacking = f.greatest(*(columns[name].isNull() for name in NEEDED))
    is_odd = ~columns["result"].isin("ALLOWED", "DENIED")
    reason = f.when(is_lacking, _LACKING).when(is_odd, _ODD)
    text = f.when(reason.isNotNull(), f.to_json(f.struct("*")))
    named = [column.alias(name) for name, column in columns.items()]
    return table.select(*named, text.alias("text"), reason.alias("reason"))


def _parquet(session: SparkSession, path: str) -> DataFrame:
    try:
        table = session.read.parquet(path)
        return table.select("*") if table.columns else table
    except errors_of_spark() as error:
        said = first_line(error)
        raise InvalidRequest(f"{path}: no Parquet table can be read there: {said}") from None


def requests_of(read: DataFrame) -> DataFrame:
    """The rows of REQUESTS among rows of ``READ``."""
    return read.where("reason IS NULL").drop("text", "reason")


def rejected_of(read: DataFrame) -> DataFrame:
    """The rows of REJECTED among rows of ``READ``."""
    return read.where("reason IS NOT NULL").select("file", "line", "text", "reason")

"""Reads tables of requests, and defines ``READ``, the common form of all rows that are read.

This module must not know how a line is read, nor how the rows are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Final

import pyarrow as pa  # Spark reads the type hints of functions for workers

from authorizer.audit.layouts import TIMES_END_US
from authorizer.audit.line import by_plain_name
from authorizer.engine.decide import AuthorizationResult
from metalog.acl import Operation, PatternType, ResourceType
from metalog.errors import InvalidRequest
from metalog.hosts.client_host import client_host
from metalog_spark.session import errors_of_spark, first_line
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.tables import POSSIBLE, REQUESTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

READ: Final = (
    f"{REQUESTS.schema}, text STRING, reason STRING, possible BOOLEAN, zone STRING,"
    " start BIGINT, lines BIGINT, bytes BIGINT, size BIGINT, head ARRAY<BIGINT>"
)
"""The columns of REQUESTS, POSSIBLE and REJECTED, so that one pass over a file fills all three
tables. ``possible`` is true in rows of POSSIBLE, else null. Only rows of REJECTED have a
``reason``. Only the row about a split has ``lines``."""
IS_REQUEST: Final = "reason IS NULL AND possible IS NULL AND lines IS NULL"
NEEDED: Final = (
    "time", "principal", "host", "operation", "resource_type", "resource_name", "result",
)  # fmt: skip
_LACKING: Final = f"one of {', '.join(NEEDED)} is null, of a wrong type, or not UTF-8"
_WRONG_YEAR: Final = "its time is not in the years 1970 to 9999"
_WORDS: Final[Mapping[str, Mapping[str, Enum]]] = {
    "operation": by_plain_name(Operation),
    "resource_type": by_plain_name(ResourceType),
    "pattern_type": {"LITERAL": PatternType.LITERAL},
    "result": by_plain_name(AuthorizationResult),
}
"""The enum member for each word, by column. Words are in capitals, without ``_``."""
_UNKNOWN_WORD: Final = {
    "operation": "its operation is not one of Kafka's",
    "resource_type": "its resource_type is not one of Kafka's",
    "pattern_type": "its pattern_type is not LITERAL; requests have only LITERAL",
    "result": "its result is neither ALLOWED nor DENIED",
}


def spread(
    session: SparkSession, tasks: int, work: Callable[[int], Iterator[pa.RecordBatch]], schema: str
) -> DataFrame:
    """The rows that ``work`` yields for each number from 0 to ``tasks - 1``, in one Spark task for
    each number."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                yield from work(task)

    return session.range(0, tasks, 1, max(tasks, 1)).mapInArrow(run, schema)


def read_table(session: SparkSession, path: str) -> DataFrame:
    """The rows of a Parquet table of requests, as rows of ``READ``."""
    broker = path.rstrip("/").rpartition("/")[2].partition(".")[0]
    return requests_in(_parquet(session, path), path, broker)


def requests_in(table: DataFrame, path: str, broker: str) -> DataFrame:
    """The rows of ``table`` as rows of ``READ``, with ``path`` as their file.

    The table needs the columns ``NEEDED``. Operations and types may have the spelling of any Kafka
    version. Other columns can be missing or null: then ``broker`` is the argument, ``pattern_type``
    is LITERAL, ``ambiguous`` is false, and other columns are null. ``line`` is always null, because
    a row with a line can be taken for half a line of a log.

    Raises:
        InvalidRequest: a column is missing, or ``time`` is neither a timestamp nor text.
    """
    from pyspark.sql import functions as f

    session, own = table.sparkSession, columns_of(table)
    lacking = [name for name in NEEDED if name not in own]
    if lacking:
        raise InvalidRequest(f"{path}: not a table of requests: it has no column {lacking[0]}")
    _check_has_times(table, own["time"], path)
    assumed = {"broker": broker, "pattern_type": "LITERAL", "ambiguous": False}
    columns = {
        field.name: (f.col(own[field.name]) if field.name in own else f.lit(None)).try_cast(
            field.dataType
        )
        for field in frame_of(session, [], REQUESTS.schema).schema
    }
    columns |= {name: f.coalesce(columns[name], f.lit(value)) for name, value in assumed.items()}
    columns["host"] = _client_hosts(columns["host"])
    no_line = f.lit(None).cast("bigint")
    columns |= {"file": f.lit(path), "line": no_line, "day": f.to_date(columns["time"])}
    needed = [columns[name] for name in NEEDED]
    lacks = (each.isNull() | ~f.is_valid_utf8(each.cast("string")) for each in needed)
    is_wrong_year = ~f.unix_micros(columns["time"]).between(0, TIMES_END_US - 1)
    reason = f.when(f.greatest(*lacks), _LACKING).when(is_wrong_year, _WRONG_YEAR)
    for name, known in _WORDS.items():
        columns[name] = _word(columns[name], known)
        reason = reason.when(columns[name].isNull(), _UNKNOWN_WORD[name])
    text = f.when(reason.isNotNull(), f.to_json(f.struct("*")))
    named = [column.alias(name) for name, column in columns.items()]
    found = table.select(*named, text.alias("text"), reason.alias("reason"))
    return frame_of(session, [], READ).unionByName(found, allowMissingColumns=True)


def columns_of(table: DataFrame) -> Mapping[str, str]:
    """The table's column for each name in lower case, because Spark ignores the case of names, and
    some databases have names in capitals."""
    return {name.lower(): name for name in table.columns} | {name: name for name in table.columns}


def _check_has_times(table: DataFrame, time: str, path: str) -> None:
    """Refuse numbers: Spark reads seconds, but the numbers can be milliseconds."""
    kind = table.schema[time].dataType.simpleString()
    if not kind.startswith(("timestamp", "string")):
        raise InvalidRequest(
            f"{path}: the column {time!r} has the type {kind}; make it a timestamp, for example"
            " from milliseconds by Spark's timestamp_millis(time)"
        )


def _word(column: Column, known: Mapping[str, Enum]) -> Column:
    from pyspark.sql import functions as f

    plain = f.upper(f.replace(f.trim(column), f.lit("_"), f.lit("")))
    pairs = (f.lit(each) for plain, member in known.items() for each in (plain, member.name))
    return f.try_element_at(f.create_map(*pairs), plain)


def _client_hosts(hosts: Column) -> Column:
    from pyspark.sql.pandas.functions import arrow_udf

    def spell(column: pa.Array) -> pa.Array:
        coded = column.dictionary_encode()
        spelled = [_client_host(host) for host in coded.dictionary.cast(pa.binary()).to_pylist()]
        return pa.array(spelled, pa.binary()).view(column.type).take(coded.indices)

    return arrow_udf(spell, "STRING")(hosts)  # type: ignore[call-overload,no-any-return]  # its stub knows no hints


def _client_host(host: bytes) -> bytes:
    """The host as brokers write it."""
    return client_host(host.decode()).encode() if b":" in host and host.isascii() else host


def _parquet(session: SparkSession, path: str) -> DataFrame:
    try:
        table = session.read.parquet(path)
        return table.select("*") if table.columns else table
    except errors_of_spark() as error:
        reason = first_line(error)
        raise InvalidRequest(f"{path}: cannot be read as a Parquet table: {reason}") from None


def requests_of(read: DataFrame) -> DataFrame:
    return read.where(IS_REQUEST).select(*REQUESTS.columns)


def possible_of(read: DataFrame) -> DataFrame:
    return read.where("possible").select(*POSSIBLE.columns)


def rejected_of(read: DataFrame) -> DataFrame:
    return read.where("reason IS NOT NULL").select("file", "line", "text", "reason")

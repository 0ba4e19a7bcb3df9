"""Converts Python rows to Arrow and to Spark's tables, by a schema in Spark's text form.

Spark's plan contains the Arrow data, so a few rows need neither a Spark job nor a Python worker.
This module must not know what a row means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    Mapped = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
else:
    Mapped = Callable

_BETWEEN: Final = re.compile(r",\s*(?![^<]*>)")
_FIELD: Final = re.compile(r"(\w+):? (.+)")
_NESTED: Final = re.compile(r"(ARRAY|STRUCT)<(.+)>")


def frame_of(session: SparkSession, rows: Iterable[Sequence[Any]], schema: str) -> DataFrame:
    """``rows`` as a Spark table; times are datetimes or microseconds since 1970."""
    return in_spark(session, table_of(rows, schema), schema)


def in_spark(session: SparkSession, table: pa.Table, schema: str) -> DataFrame:
    """``table`` as a Spark table."""
    # Spark accepts a table without rows only if its columns have chunks. Connect needs a schema.
    return session.createDataFrame(table if table.num_rows else table_of([], schema), schema)


def table_of(rows: Iterable[Sequence[Any]], schema: str) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_batches([batch_of(rows, schema)])


def batch_of(rows: Iterable[Sequence[Any]], schema: str) -> pa.RecordBatch:
    import pyarrow as pa

    fields = _fields(schema)
    columns = list(zip(*rows, strict=True)) or [()] * len(fields)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def rows_of(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def names_in(schema: str) -> list[str]:
    return [name for name, _ in _columns(schema)]


def _columns(schema: str) -> Iterator[tuple[str, str]]:
    for part in _BETWEEN.split(schema):
        if found := _FIELD.fullmatch(part):
            yield found[1], found[2]


def _fields(schema: str) -> list[pa.Field]:
    import pyarrow as pa

    return [pa.field(name, _type(kind)) for name, kind in _columns(schema)]


def _type(kind: str) -> pa.DataType:
    import pyarrow as pa

    if nested := _NESTED.fullmatch(kind):
        inside = nested[2]
        return pa.list_(_type(inside)) if nested[1] == "ARRAY" else pa.struct(_fields(inside))
    return {
        "STRING": pa.string(),
        "BIGINT": pa.int64(),
        "INT": pa.int32(),
        "BOOLEAN": pa.bool_(),
        "BINARY": pa.binary(),
        "DATE": pa.date32(),
        "TIMESTAMP": pa.timestamp("us", "UTC"),
    }[kind]

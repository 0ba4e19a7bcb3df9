"""Rows of Python as Arrow, by the same text of a schema that Spark gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    Mapped = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
else:
    Mapped = Callable


def batch_of(rows: Sequence[tuple[Any, ...]], schema: str) -> pa.RecordBatch:
    """``schema`` has STRING, BIGINT and BOOLEAN columns."""
    import pyarrow as pa

    types = {"STRING": pa.string(), "BIGINT": pa.int64(), "BOOLEAN": pa.bool_()}
    fields = [pa.field(name, types[kind]) for name, kind in map(str.split, schema.split(", "))]
    columns = zip(*rows, strict=True) if rows else [()] * len(fields)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def table_of(rows: Sequence[tuple[Any, ...]], schema: str) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_batches([batch_of(rows, schema)])

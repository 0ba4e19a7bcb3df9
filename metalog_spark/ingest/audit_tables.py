"""Reads requests or audit lines from a Spark table: Parquet, a table of Spark's catalog, or files
in any of Spark's formats, such as ``table:json.`/logs```.

A table with the columns of requests is read as requests. In any other table, each row is one audit
line: the column ``value``, or the only column besides ``broker``, or else the whole row as JSON.
Rows have no order, so the lines have no number. This module must not know what a line says, nor
what earlier builds read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa  # Spark reads the type hints of functions for workers

from authorizer.audit.layouts import Zone, fields_around
from metalog.errors import InvalidRequest
from metalog_spark.ingest.audit_files import BrokerPattern, name_found
from metalog_spark.ingest.file_groups import PARQUET, FileGroups
from metalog_spark.ingest.requests import NEEDED, READ, columns_of, requests_in
from metalog_spark.session import errors_of_spark, first_line
from metalog_spark.store.table_store import placed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PREFIX: Final = "table:"
_VALUE: Final = "value"
_BROKER: Final = "broker"
_TEXTS: Final = ("string", "binary")


def is_table(audit: str) -> bool:
    """Whether the argument of ``--audit`` names a table."""
    return audit.startswith(PREFIX) or audit.rstrip("/").endswith(PARQUET)


def refuse_parquet(files: FileGroups) -> None:
    """Raise ``InvalidRequest`` if a file's name ends in ``.parquet``."""
    if files.parquet is not None:
        raise InvalidRequest(
            f"{files.parquet}: a Parquet file among text files; name its folder separately:"
            f" --audit '{PREFIX}parquet.`FOLDER`'"
        )


def table_name(text: str) -> str:
    """The ``file`` of the table's rows: ``text`` if it begins with ``table:``, else an absolute
    path or a URI."""
    return text if text.startswith(PREFIX) else placed(text)


def read_audit_table(
    session: SparkSession, name: str, zone: Zone, pattern: BrokerPattern
) -> DataFrame:
    """The table ``name`` as rows of ``READ``.

    Raises:
        InvalidRequest: Spark cannot read the table, or the table has neither requests nor lines.
    """
    table, broker = _opened(session, name), _default_broker(name)
    if set(NEEDED).issubset(columns_of(table)):
        return requests_in(table, name, broker)
    return _read_lines(table, name, broker, zone, pattern)


def _opened(session: SparkSession, name: str) -> DataFrame:
    try:
        if name.startswith(PREFIX):
            table = session.table(name.removeprefix(PREFIX))
        else:
            table = session.read.parquet(name)
        return table.select("*") if table.columns else table
    except errors_of_spark() as error:
        raise InvalidRequest(f"{name}: Spark reads no table there: {first_line(error)}") from None


def _default_broker(name: str) -> str:
    """The table's name without its database, or a file's name up to the first dot."""
    last = name.removeprefix(PREFIX).rstrip("/`").replace("`", "/").rpartition("/")[2]
    return last.partition(".")[0] if "/" in name else last.rpartition(".")[2]


def _read_lines(
    table: DataFrame, name: str, broker: str, zone: Zone, pattern: BrokerPattern
) -> DataFrame:
    from pyspark.sql import functions as f

    line, column = _line_of(table, name), columns_of(table).get(_BROKER)
    own = (f.lit(None) if column is None else f.col(column)).cast("string")
    row_json = f.lit(None).cast("string") if pattern is None else _as_json(table)
    rows = table.select(line.alias("line"), own.alias("own"), row_json.alias("row_json"))

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from metalog_spark.ingest.audit_splits import Record, read_records

        def records() -> Iterator[Record]:
            for batch in batches:
                for line, own, row_json in zip(*(each.to_pylist() for each in batch), strict=True):
                    text = line or b""
                    line_broker = own or _broker_of_line(row_json, text, name, broker, pattern)
                    yield Record(name, line_broker, 1, text)

        for batch in read_records(records(), zone):
            place = batch.schema.get_field_index("line")
            yield batch.set_column(place, "line", pa.nulls(len(batch), pa.int64()))

    return rows.mapInArrow(read, READ)


def _line_of(table: DataFrame, name: str) -> Column:
    from pyspark.sql import functions as f

    kinds, own = dict(table.dtypes), columns_of(table)
    broker, value = own.get(_BROKER), own.get(_VALUE)
    texts = [each for each in kinds if kinds[each] in _TEXTS and each != broker]
    if not texts:
        lacking = next(each for each in NEEDED if each not in own)
        raise InvalidRequest(
            f"{name}: holds neither requests nor audit lines: it has no column {lacking}"
            " and no text column"
        )
    if value in texts or len(kinds.keys() - {broker}) == 1:
        return f.col(f"`{value if value in texts else texts[0]}`").cast("binary")
    return _as_json(table).cast("binary")


def _as_json(table: DataFrame) -> Column:
    from pyspark.sql import functions as f

    columns = (
        f.col(f"`{each}`").cast("string").alias(each) if kind == "binary" else f.col(f"`{each}`")
        for each, kind in table.dtypes
    )
    return f.to_json(f.struct(*columns))


def _broker_of_line(
    row_json: str | None, line: bytes, name: str, broker: str, pattern: BrokerPattern
) -> str:
    """``pattern`` finds the name in a column of the row (as ``NAME=VALUE``), in a field of the JSON
    around the line, or in the table's name."""
    if pattern is None:
        return broker
    fields = (*fields_around(row_json or ""), *fields_around(line.decode(errors="replace")), name)
    for text in fields:
        if found := name_found(pattern, text):
            return found
    raise InvalidRequest(f"{name}: {pattern.pattern!r} finds no broker in this name or in a row")

"""Exports the rows in force as plain Parquet, one folder per table.

On this machine's disk, the export is atomic. Elsewhere, a table is complete if it has Spark's file
``_SUCCESS``. This module must not know what a row means.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from metalog_spark.store.preflight import check_is_new, check_is_outside
from metalog_spark.store.table_store import checked_folder
from metalog_spark.store.tables import TABLES, TableSchema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metalog_spark.store.table_store import Tables


class Exported(NamedTuple):
    table: str
    rows: int


def check_target(folder: str, out: str, *, is_here: bool) -> None:
    """Raise ``InvalidTarget`` if ``out`` is in the tables' folder, or ``is_here`` (on this
    machine's disk) and not empty."""
    check_is_outside(checked_folder(out), "the tables' folder", folder)
    if is_here:
        check_is_new(out)


def export(
    tables: Tables, out: str, *, is_here: bool, doing: Callable[[str], None] = lambda _: None
) -> list[Exported]:
    """Write all tables into ``out``, which must have passed ``check_target``. ``doing`` is called
    with the name of each step."""
    place = checked_folder(out)
    if not is_here:
        return _written(tables, place, doing)
    whole = Path(place)
    part = whole.with_name(f".{whole.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        exported = _written(tables, str(part), doing)
        part.rename(whole)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return exported


def _written(tables: Tables, place: str, doing: Callable[[str], None]) -> list[Exported]:
    from pyspark.sql import functions as f

    counted = []
    for name, table in TABLES.items():
        doing(f"writing {name}")
        _write(table, tables.read(table), f"{place}/{name}")
        rows = tables.session.read.schema(table.schema).parquet(f"{place}/{name}")
        counted.append(rows.agg(f.lit(name).alias("table"), f.count("*").alias("rows")))
    doing("counting rows")
    written = reduce(lambda one, other: one.unionAll(other), counted).collect()
    return [Exported(*row) for row in written]


def _write(table: TableSchema, rows: DataFrame, place: str) -> None:
    """Write few files for each day, and one file for a table without rows: it has the columns."""
    writer = rows.hint("rebalance", *table.partitions).write
    if table.partitions and not rows.isEmpty():
        writer = writer.partitionBy(*table.partitions)
    writer.parquet(place)

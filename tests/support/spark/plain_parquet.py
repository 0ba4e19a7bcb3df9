"""Reads a folder of plain Parquet, one folder per table, with DuckDB, as any reader could.

This module must not know how the folder was made.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from metalog_spark.store.tables import TABLES, TableSchema


def rows_in(folder: Path, table: TableSchema, columns: str) -> list[tuple[object, ...]]:
    pattern = f"{folder}/{table.name}/**/*.parquet"
    with duckdb.connect() as database:
        read = f"read_parquet('{pattern}', hive_partitioning = {bool(table.partitions)})"
        return database.execute(f"SELECT {columns} FROM {read}").fetchall()


def sums(folder: Path, table: TableSchema, column: str) -> int | None:
    [[found]] = rows_in(folder, table, f"sum({column})::BIGINT")
    return found if isinstance(found, int) else None


def counts(folder: Path) -> dict[str, int]:
    """The number of rows of each table; ``*`` must be readable, too."""
    return {name: len(rows_in(folder, table, "*")) for name, table in TABLES.items()}

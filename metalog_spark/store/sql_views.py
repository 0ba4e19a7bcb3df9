"""Registers each table of a pipeline's folder as a temporary view of a session, for SQL.

This module must not know what is queried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def register_views(
    session: SparkSession, tables: str | Path | Tables, *, prefix: str = ""
) -> tuple[str, ...]:
    """Register a view of each table, all at the same commit.

    Returns the names of the views: ``prefix``, then the name of the table.

    Args:
        session: Any session that can read the folder, classic or Connect.
        tables: The folder, or the tables in it.
        prefix: Distinguishes the views of several folders.

    Raises:
        InvalidSource: The path is not a pipeline's folder, or the folder is incomplete.
    """
    opened = tables if isinstance(tables, Tables) else Tables.open(session, tables)
    names = {f"{prefix}{name}": table for name, table in TABLES.items()}
    for name, table in names.items():
        opened.read(table).createOrReplaceTempView(name)
    return tuple(names)

"""Names for SQL: each table of a pipeline's folder as a temporary view of a session.

This module must not know what is asked of them.
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
    """The names of the views, ``prefix`` before each table's own; all show one commit.

    Args:
        session: Any session that reaches the folder, classic or Connect.
        tables: The folder, or the tables in it.
        prefix: What keeps the views of several folders apart.

    Raises:
        InvalidSource: There is no pipeline's folder, or it is not whole.
    """
    opened = tables if isinstance(tables, Tables) else Tables.open(session, tables)
    names = {f"{prefix}{name}": table for name, table in TABLES.items()}
    for name, table in names.items():
        opened.read(table).createOrReplaceTempView(name)
    return tuple(names)

"""Divides audit files into groups, so that the driver has the paths of one group at a time.

Spark lists the files once. The list is written beside the tables, so that Spark can drop its own
list. Files are grouped in the order of base names. The name of a rotated log has its hour, so a
group covers few days. This module must not know what a file says.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog_spark.ingest.audit_source import LISTED
from metalog_spark.store.tables import TableSchema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from metalog_spark.store.table_store import Tables

MOST_FILES: Final = 8_192
"""The most files in a group. Each group costs Spark a plan and several jobs."""
PARQUET: Final = ".parquet"
_TABLE: Final = TableSchema("listing", f"{LISTED}, number INT", ("number",))
_PLACE: Final = "row_number() OVER (ORDER BY regexp_replace(path, '(?s)^.*/', ''), path) - 1"


class FileGroup(NamedTuple):
    """``longest`` and ``total`` are in bytes. ``parquet`` is a path that ends in ``.parquet``."""

    number: int
    files: int
    longest: int
    total: int
    parquet: str | None


class FileGroups(NamedTuple):
    """``listed`` has rows of ``LISTED`` with the ``number`` of each file's group."""

    listed: DataFrame
    groups: Sequence[FileGroup]

    @classmethod
    def of(cls, tables: Tables, files: DataFrame) -> FileGroups:
        """``files`` has rows of ``LISTED``. A DataFrame keeps Spark's own list. Only the garbage
        collector frees DataFrames, because they are in reference cycles."""
        from pyspark.sql import functions as f

        number = f"CAST(({_PLACE}) DIV {MOST_FILES} AS INT) AS number"
        listed = tables.aside(_TABLE, files.selectExpr("*", number))
        del files
        gc.collect()
        parquet = f.expr(f"CASE WHEN endswith(path, '{PARQUET}') THEN path END")
        found = listed.groupBy("number").agg(
            f.count("*"), f.max("length"), f.sum("length"), f.min(parquet)
        )
        return cls(listed, sorted(FileGroup(*row) for row in found.collect()))

    @property
    def parquet(self) -> str | None:
        return min((group.parquet for group in self.groups if group.parquet), default=None)

    @property
    def file_count(self) -> int:
        return sum(group.files for group in self.groups)

    def paths(self, group: FileGroup) -> pa.ChunkedArray:
        return self.listed.where(f"number = {group.number}").select("path").toArrow()["path"]

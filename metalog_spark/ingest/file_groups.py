"""Divides audit files into groups, so that the driver has the paths of one group at a time.

Spark lists the files once. The list is written beside the tables, so that Spark can drop its own
list. A group has consecutive files in the order of base names. The name of a rotated log has its
hour, so the files of a group, and the rows of a task, are of few days. This module must not know
what a file says.
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
"""A group has at most this many files. For each group, Spark makes a plan, and runs jobs that list
and read the group's files."""
PARQUET: Final = ".parquet"
_TABLE: Final = TableSchema("listing", f"{LISTED}, number INT", ("number",))
_PLACE: Final = "row_number() OVER (ORDER BY regexp_replace(path, '(?s)^.*/', ''), path) - 1"


class FileGroup(NamedTuple):
    """``longest`` and ``total`` are lengths in bytes. ``parquet`` is the path of a file with the
    suffix ``.parquet``, or None."""

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
        """``files`` has rows of ``LISTED``. Spark keeps its own list while a DataFrame refers to
        the list. DataFrames are in reference cycles, which only the garbage collector frees."""
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

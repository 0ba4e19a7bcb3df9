"""Writes a table's rows in a worker, as Parquet with one folder per day, in Spark's layout.

Passing a row to Spark's own writer takes longer than all other work on the row. Use this module
only if the folder is on the worker's disk, and if nobody reads the files before a commit. A task
that runs again overwrites its files. This module must not know Spark, nor what a row means.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from metalog_spark.store.places import WITHOUT_DAY

MOST_WAITING: Final = 1 << 17
"""At most this many rows wait for more rows of their day. A small file costs as much as a large
one."""
_DIFFERENT: Final = (pa.timestamp("us", "UTC"), pa.int64())
"""The values of columns with these types mostly differ, so a dictionary saves nothing."""
DAY: Final = "day"


class DayFiles:
    """``task`` is a part of each file's name. ``kind`` is the name of a column. In a batch, all
    rows without a day must have the same value in this column. Each value has its own files, so
    that a reader of one value skips all other files."""

    def __init__(self, folder: Path, task: str, kind: str) -> None:
        self._folder, self._task, self._kind = folder, task, kind
        self._waiting: dict[tuple[str, str], list[pa.RecordBatch]] = {}
        self._sizes: dict[tuple[str, str], int] = {}
        self._written = 0

    def add(self, rows: pa.RecordBatch) -> None:
        days = rows[DAY]
        distinct = days.unique()
        for day in distinct:
            own = rows if len(distinct) == 1 else rows.filter(_is_of(days, day))
            key = (str(day), "") if day.is_valid else (WITHOUT_DAY, own[self._kind][0].as_py())
            self._waiting.setdefault(key, []).append(own.drop_columns([DAY]))
            self._sizes[key] = self._sizes.get(key, 0) + len(own)
        while sum(self._sizes.values()) > MOST_WAITING:
            self._write(max(self._sizes, key=self._sizes.__getitem__))

    def finish(self) -> None:
        for key in list(self._sizes):
            self._write(key)

    def _write(self, key: tuple[str, str]) -> None:
        place = self._folder / f"{DAY}={key[0]}"
        place.mkdir(parents=True, exist_ok=True)
        name = f"part-{self._task}-{self._written:05}.snappy.parquet"
        rows = pa.Table.from_batches(self._waiting.pop(key))
        different = [field.name for field in rows.schema if field.type in _DIFFERENT]
        parquet.write_table(
            rows,
            place / name,
            compression="snappy",
            store_schema=False,
            use_dictionary=[each for each in rows.schema.names if each not in different],
            write_statistics=[*different, self._kind],
        )
        del self._sizes[key]
        self._written += 1


def _is_of(days: pa.Array, day: pa.Scalar) -> pa.Array:
    return pc.equal(days, day) if day.is_valid else days.is_null()

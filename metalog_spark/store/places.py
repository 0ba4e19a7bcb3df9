"""The directories ("places") with rows of one table: their names, the rows in force, and the places
to merge.

Places are merged in levels, like the files of a log-structured merge tree. A merged place with
``MANY_ROWS`` rows or more is not merged again, because that would take long. This module must not
know what is written to a directory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Column

    from metalog_spark.store.commit_log import Days
    from metalog_spark.store.tables import TableSchema

_PLACE: Final = "place="
_MERGED: Final = re.compile(r"joined(\d*)-")
_WHOLE: Final = "whole-"
WITHOUT_DAY: Final = "__HIVE_DEFAULT_PARTITION__"
"""Spark's name for the directory of the rows without a day."""
MANY_ROWS: Final = 1_000_000


def place_of(table: TableSchema, name: str) -> str:
    """The directory's name: a Hive partition, so that Spark reads several directories as one
    table."""
    return f"{table.name}/{_PLACE}{name}"


def name_of(place: str) -> str:
    return place.partition(_PLACE)[2]


def merged_place(table: TableSchema, level: int, rows: int, serial: int) -> str:
    """The new place for ``rows`` merged rows from places of ``level``. The ``serial`` makes the
    name unique."""
    kind = f"joined{level + 1}-" if rows < MANY_ROWS else _WHOLE
    return place_of(table, f"{kind}{serial}")


def to_merge(places: Sequence[str], most: int) -> tuple[int, tuple[str, ...]]:
    """The lowest level with more places than ``most``, and these places, if any. Places that no
    merge has written have level 0."""
    levels = {place: _level_of(place) for place in places}
    sizes = Counter(level for level in levels.values() if level is not None)
    level = min((level for level, size in sizes.items() if size > most), default=0)
    found = tuple(place for place in places if levels[place] == level)
    return level, found if len(found) > most else ()


def _level_of(place: str) -> int | None:
    name = name_of(place)
    if name.startswith(_WHOLE):
        return None
    merged = _MERGED.match(name)
    return int(merged[1] or 1) if merged else 0


def is_newest(table: TableSchema, replacements: Sequence[Days]) -> Column:
    """Whether a row is in the newest place for its day. ``replacements`` are in commit order."""
    from pyspark.sql import functions as f

    [key] = table.partitions
    place, day = f.col("place"), f.col(key).cast("string")
    newest = {value: name_of(each.place) for each in replacements for value in each.days}
    is_not_replacement = ~place.isin([name_of(each.place) for each in replacements])
    is_last = is_not_replacement & ~f.coalesce(day.isin(list(newest)), f.lit(False))
    for name in dict.fromkeys(newest.values()):
        own = [value for value, last in newest.items() if last == name]
        is_last |= (place == name) & day.isin(own)
    return is_last

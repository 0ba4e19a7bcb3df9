"""The directories ("places") with rows of one table: their names, and which rows are in force.

This module must not know what is written to a directory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Column

    from metalog_spark.store.commit_log import Days
    from metalog_spark.store.tables import TableSchema

_PLACE: Final = "place="


def place_of(table: TableSchema, name: str) -> str:
    """The directory's name: a Hive partition, so that Spark reads several as one table, above the
    partition by days."""
    return f"{table.name}/{_PLACE}{name}"


def name_of(place: str) -> str:
    return place.partition(_PLACE)[2]


def is_newest(table: TableSchema, laid: Sequence[Days]) -> Column:
    """Whether a row is in the newest of the directories that have its day."""
    from pyspark.sql import functions as f

    [key] = table.partitions
    place, day = f.col("place"), f.col(key).cast("string")
    newest = {value: name_of(each.place) for each in laid for value in each.days}
    is_below = ~place.isin([name_of(each.place) for each in laid])
    is_last = is_below & ~f.coalesce(day.isin(list(newest)), f.lit(False))
    for name in dict.fromkeys(newest.values()):
        own = [value for value, last in newest.items() if last == name]
        is_last |= (place == name) & day.isin(own)
    return is_last

"""Decisions without repeats: a row for each day, question and answer, with its count.

This module must not know how anything is decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metalog_spark.store.tables import USAGE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COUNTED: Final = ("requests", "first_time", "last_time")
_SAME: Final = tuple(name for name in USAGE.columns if name not in _COUNTED)


def usage(decisions: DataFrame) -> DataFrame:
    """The rows of USAGE for rows of DECISIONS."""
    from pyspark.sql import functions as f

    counted = decisions.groupBy(*_SAME).agg(
        f.count("*").alias("requests"),
        f.min("time").alias("first_time"),
        f.max("time").alias("last_time"),
    )
    return counted.select(*USAGE.columns)


def added_up(parts: DataFrame) -> DataFrame:
    """The sum of ``parts``, which are rows of USAGE."""
    from pyspark.sql import functions as f

    counted = parts.groupBy(*_SAME).agg(
        f.sum("requests").alias("requests"),
        f.min("first_time").alias("first_time"),
        f.max("last_time").alias("last_time"),
    )
    return counted.select(*USAGE.columns)

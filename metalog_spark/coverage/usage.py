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
    return _summed(decisions, "count(*)", "min(time)", "max(time)")


def added_up(parts: DataFrame) -> DataFrame:
    """The sum of ``parts``, which are rows of USAGE."""
    return _summed(parts, "sum(requests)", "min(first_time)", "max(last_time)")


def _summed(rows: DataFrame, *sums: str) -> DataFrame:
    from pyspark.sql.functions import expr

    counted = (expr(each).alias(name) for each, name in zip(sums, _COUNTED, strict=True))
    return rows.groupBy(*_SAME).agg(*counted).select(*USAGE.columns)

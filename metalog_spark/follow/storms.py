"""Counts denials by principal and window of time, and finds the storms that begin.

A storm is a window of ``WINDOW_MS`` with at least ``storm_from`` denials of one principal. If the
next window is one, too, it continues the same storm. Spark counts, and only storms reach the
driver. This module must not know how a storm is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog_spark.follow.alerts import WINDOW_MS, Storm
from metalog_spark.store.tables import DENIALS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_OF_WINDOW: Final = ("principal", "since")
_QUESTION: Final = ("operation", "resource_type", "resource_name")
_COUNTED_MS: Final = 7 * 24 * 3600 * 1000
"""Counts of windows that are older than this, counted back from the newest, are dropped."""


class CountedDenials(NamedTuple):
    """``denials`` are the rows of ``DENIALS`` after a batch; ``storms`` are those that the batch
    began, by time and principal."""

    denials: DataFrame
    storms: Sequence[Storm]


def denials_of(answers: DataFrame) -> DataFrame:
    """Rows of ``DENIALS`` for the requests that brokers denied, whatever our decision is."""
    from pyspark.sql import functions as f

    window = f.floor(f.unix_millis("time") / f.lit(WINDOW_MS)) * f.lit(WINDOW_MS)
    denied = answers.where("result = 'DENIED'").withColumn("since", f.timestamp_millis(window))
    by_question = denied.groupBy(*_OF_WINDOW, *_QUESTION).agg(f.count("*").alias("denied"))
    mostly = f.max_by(f.struct(*_QUESTION), f.struct("denied", *_QUESTION))
    totals = by_question.groupBy(*_OF_WINDOW).agg(
        f.sum("denied").alias("denied"), mostly.alias("mostly")
    )
    return totals.select(*_OF_WINDOW, "denied", "mostly.*").select(*DENIALS.columns)


def with_denials(before: DataFrame, added: DataFrame) -> DataFrame:
    """Rows of ``DENIALS`` in which the denials ``before`` and those ``added`` are summed; the most
    frequent denial is that of the latest batch. The column ``before`` is the sum without those
    ``added``."""
    from pyspark.sql import functions as f

    both = before.withColumn("batch", f.lit(0)).unionByName(added.withColumn("batch", f.lit(1)))
    latest = f.max_by(f.struct(*_QUESTION), "batch").alias("mostly")
    of_before = f.coalesce(f.sum(f.when(f.col("batch") == 0, f.col("denied"))), f.lit(0))
    totals = both.groupBy(*_OF_WINDOW).agg(
        f.sum("denied").alias("denied"), of_before.alias("before"), latest
    )
    return totals.select(*_OF_WINDOW, "denied", "mostly.*", "before")


def counted(whole: DataFrame, storm_from: int) -> CountedDenials:
    """The rows of ``whole`` (the result of ``with_denials``) to keep, and the storms: one for each
    window that reached ``storm_from`` denials, unless the previous window was a storm, too."""
    from pyspark.sql import functions as f

    storm = f.struct("since_ms", "principal", "denied", *_QUESTION)
    looked = whole.select(
        "*", f.unix_millis("since").alias("since_ms"), _begins_storm(storm_from).alias("begins")
    )
    [row] = looked.agg(
        f.max("since_ms").alias("newest"),
        f.collect_list(f.when(f.col("begins"), storm)).alias("found"),
    ).collect()
    is_kept = f.unix_millis("since") > f.lit(row.newest) - f.lit(_COUNTED_MS)
    return CountedDenials(
        whole.where(is_kept).select(*DENIALS.columns),
        sorted(Storm(*fields) for fields in row.found),
    )


def _begins_storm(storm_from: int) -> Column:
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    of_principal = Window.partitionBy("principal").orderBy("since")
    since_ms, is_storm = f.unix_millis("since"), f.col("denied") >= storm_from
    is_next = f.lag(since_ms).over(of_principal) == since_ms - f.lit(WINDOW_MS)
    goes_on = f.coalesce(is_next & f.lag(is_storm).over(of_principal), f.lit(False))
    return is_storm & (f.col("before") < storm_from) & ~goes_on

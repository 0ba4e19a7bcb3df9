"""Counts denials by principal and window of time, and finds new storms.

A storm is a run of adjacent windows of ``WINDOW_MS``, each with at least ``storm_from`` denials of
one principal. A storm is found only once, even if late lines add an earlier window. Only storms
reach the driver. This module must not know how a storm is reported.
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
"""Windows that are this much older than the newest window are dropped."""


class CountedDenials(NamedTuple):
    """The rows of ``DENIALS`` after a batch, and the new storms, sorted by time and principal. A
    storm has the data of its first window."""

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
    """The sums of the rows of ``DENIALS`` in ``before`` and ``added``. The column ``before`` has
    the sums of ``before`` only. The operation and the resource of ``added`` take precedence."""
    from pyspark.sql import functions as f

    both = before.withColumn("batch", f.lit(0)).unionByName(added.withColumn("batch", f.lit(1)))
    latest = f.max_by(f.struct(*_QUESTION), "batch").alias("mostly")
    of_before = f.coalesce(f.sum(f.when(f.col("batch") == 0, f.col("denied"))), f.lit(0))
    totals = both.groupBy(*_OF_WINDOW).agg(
        f.sum("denied").alias("denied"), of_before.alias("before"), latest
    )
    return totals.select(*_OF_WINDOW, "denied", "mostly.*", "before")


def find_storms(whole: DataFrame, storm_from: int) -> CountedDenials:
    """The denials to keep and the new storms. ``whole`` is the result of ``with_denials``.

    A storm is new if none of its windows had ``storm_from`` denials before the batch.
    """
    from pyspark.sql import functions as f

    storm = f.struct("since_ms", "principal", "denied", *_QUESTION)
    [row] = (
        _with_runs(whole, storm_from)
        .agg(
            f.max("since_ms").alias("newest"),
            f.collect_list(f.when(_begins_storm(storm_from), storm)).alias("found"),
        )
        .collect()
    )
    is_kept = f.unix_millis("since") > f.lit(row.newest) - f.lit(_COUNTED_MS)
    return CountedDenials(
        whole.where(is_kept).select(*DENIALS.columns),
        sorted(Storm(*fields) for fields in row.found),
    )


def _with_runs(whole: DataFrame, storm_from: int) -> DataFrame:
    """Adds the columns ``is_storm``, ``since_ms``, ``first_ms`` (the beginning of the run) and
    ``most_before`` (the run's largest ``before``). All windows of a run have equal ``is_storm``."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    kind = ("principal", "is_storm")
    number = f.row_number().over(Window.partitionBy(*kind).orderBy("since_ms"))
    of_run = Window.partitionBy(*kind, "run")
    return (
        whole.withColumns(
            {"since_ms": f.unix_millis("since"), "is_storm": f.col("denied") >= storm_from}
        )
        .withColumn("run", f.col("since_ms") - number * f.lit(WINDOW_MS))
        .withColumn("first_ms", f.min("since_ms").over(of_run))
        .withColumn("most_before", f.max("before").over(of_run))
    )


def _begins_storm(storm_from: int) -> Column:
    from pyspark.sql import functions as f

    is_first = f.col("since_ms") == f.col("first_ms")
    return f.col("is_storm") & is_first & (f.col("most_before") < storm_from)

"""Audit coverage: which kinds of answers each broker logged in each hour.

Kafka logs allowed requests at DEBUG only. An hour without an allowed line can have two causes: the
broker allowed no request, or it did not log allowed requests (docs/reference/audit-coverage.md). An
``ambiguous`` line can be forged, so it does not prove that allowed requests are logged. The lines
also show which logs are a controller's (docs/reference/controller-operations.md). This module must
not know findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metalog_spark.ingest.controllers import CONTROLLER_REQUESTS
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.tables import USAGE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

BOTH: Final = "BOTH"
DENIALS_ONLY: Final = "DENIALS_ONLY"
NOTHING: Final = "NOTHING"
Lost = tuple[str | None, int, int]
"""A broker (None for any) and a time range, in microseconds since 1970, in which lines were
deleted unread."""
_LOST: Final = "lost_by STRING, from_us BIGINT, to_us BIGINT"
HOUR_US: Final = 3_600_000_000
_STATE: Final = (
    f"CASE WHEN is_sure THEN '{BOTH}' WHEN allowed + denied > 0 THEN '{DENIALS_ONLY}'"
    f" ELSE '{NOTHING}' END AS state"
)
_NEXT: Final = "lead(hour) OVER (PARTITION BY broker ORDER BY hour) AS next"
_LONGEST_SILENCE: Final = "INTERVAL 8784 HOUR"
_UNTIL_NEXT: Final = (
    f"explode(sequence(hour, CASE WHEN next <= hour + {_LONGEST_SILENCE}"
    " THEN next - INTERVAL 1 HOUR ELSE hour END, INTERVAL 1 HOUR)) AS each"
)
COUNTED: Final = ("allowed", "denied", "ambiguous", "is_sure", "controller")
_AGGREGATED: Final = ("requests", "first_time", "last_time")
_SAME: Final = tuple(name for name in USAGE.columns if name not in _AGGREGATED)


def counted(requests: DataFrame) -> DataFrame:
    """Counts rows of REQUESTS by broker and hour; hours without requests have no row. ``is_sure``:
    an allowed request is unambiguous. ``controller``: such a request has a type that only
    controllers log."""
    from pyspark.sql import functions as f

    is_allowed = f.col("result") == "ALLOWED"
    is_sure = is_allowed & ~f.col("ambiguous")
    is_of_controller = f.coalesce(f.col("request_name").isin(*CONTROLLER_REQUESTS), f.lit(False))
    return requests.groupBy("broker", f.date_trunc("hour", "time").alias("hour")).agg(
        f.count_if(is_allowed).alias("allowed"),
        f.count_if(f.col("result") == "DENIED").alias("denied"),
        f.count_if("ambiguous").alias("ambiguous"),
        f.bool_or(is_sure).alias("is_sure"),
        f.bool_or(is_sure & is_of_controller).alias("controller"),
    )


def counted_before(coverage: DataFrame) -> DataFrame:
    """The result of ``counted``, from rows of COVERAGE. In an hour with lost lines, ``is_sure`` and
    ``controller`` are false."""
    is_sure = f"state = '{BOTH}' AS is_sure"
    seen = coverage.where(f"state <> '{NOTHING}'")
    counts = ("allowed", "denied", "ambiguous")
    return seen.selectExpr("broker", "hour", *counts, is_sure, "controller")


def covered(counts: DataFrame, lost: Iterable[Lost] = ()) -> DataFrame:
    """The rows of COVERAGE from each broker's first hour to its last. A silence of more than 366
    days has no rows. The state of an hour with ``lost`` lines is never BOTH."""
    from pyspark.sql import functions as f

    until_next = counts.selectExpr("*", _NEXT).selectExpr("*", _UNTIL_NEXT)
    own = (f.when(f.col("each") == f.col("hour"), f.col(name)).alias(name) for name in COUNTED)
    hours = until_next.select("broker", f.col("each").alias("hour"), *own)
    begin_us, lost_by = f.unix_micros("hour"), f.col("lost_by")
    has_lost = (lost_by.isNull() | (lost_by == f.col("broker"))) & (begin_us <= f.col("to_us"))
    has_lost &= begin_us + HOUR_US > f.col("from_us")
    spans = frame_of(counts.sparkSession, lost, _LOST)
    cut = hours.join(spans, has_lost, "left_semi").select("broker", "hour")
    cut = cut.withColumn("is_cut", f.lit(True))
    every = hours.join(cut, ["broker", "hour"], "left").na.fill(0).na.fill(False)
    sure = {name: f.col(name) & ~f.col("is_cut") for name in ("is_sure", "controller")}
    return every.withColumns(sure).selectExpr(
        "broker", "hour", "allowed", "denied", _STATE, "controller", "ambiguous",
        "to_date(hour) AS day",
    )  # fmt: skip


def seen_hours(inside: Column, is_repeated: Column | None = None) -> tuple[Column, ...]:
    """Aggregates over the hours ``inside``. An hour with several brokers counts once.

    - ``allowed``: the hours with the state BOTH;
    - ``any``: the hours with the state BOTH or DENIALS_ONLY, without those in ``repeated``;
    - ``controller``: the hours with ``controller``;
    - ``ambiguous``: the number of ambiguous lines;
    - ``repeated``: the repeated hours whose state is not BOTH;
    - ``controller_or_repeated``: the hours with ``controller``, and all repeated hours.

    ``is_repeated`` marks hours that came twice because clocks were set back.
    """
    from pyspark.sql import functions as f

    state, hour = f.col("state"), f.unix_micros("hour")
    again = f.lit(False) if is_repeated is None else inside & is_repeated
    is_left_out = again & (state != BOTH)
    expected = inside & ~is_left_out
    is_controllers = inside & f.col("controller")
    return (
        f.count_distinct(f.when(expected & (state == BOTH), hour)).alias("allowed"),
        f.count_distinct(f.when(expected & (state != NOTHING), hour)).alias("any"),
        f.count_distinct(f.when(is_controllers, hour)).alias("controller"),
        f.sum(f.when(inside, f.col("ambiguous")).otherwise(0)).alias("ambiguous"),
        f.count_distinct(f.when(is_left_out, hour)).alias("repeated"),
        f.count_distinct(f.when(is_controllers | again, hour)).alias("controller_or_repeated"),
    )


def usage(decisions: DataFrame) -> DataFrame:
    return _summed(decisions, "count(*)", "min(time)", "max(time)")


def added_up(parts: DataFrame) -> DataFrame:
    """The sum of ``parts`` (rows of USAGE)."""
    return _summed(parts, "sum(requests)", "min(first_time)", "max(last_time)")


def _summed(rows: DataFrame, *sums: str) -> DataFrame:
    from pyspark.sql.functions import expr

    counted = (expr(each).alias(name) for each, name in zip(sums, _AGGREGATED, strict=True))
    return rows.groupBy(*_SAME).agg(*counted).select(*USAGE.columns)

"""What brokers' logs cover: of each broker and hour, which kinds of answers can be known.

Kafka logs what it allows only at DEBUG, so an hour without an allowed line is one in which
nothing was allowed, or one in which nothing of the kind was logged. It is taken for the former
only where a silence so long is not unusual for that broker: it lies between two hours with
allowed lines, and lasts no longer than ``USUAL`` times what on average lies between
two of its allowed lines. docs/decisions/0045 says why. This module must not know findings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BOTH: Final = "BOTH"
DENIALS_ONLY: Final = "DENIALS_ONLY"
NOTHING: Final = "NOTHING"
USUAL: Final = 10

_ON: Final = "CASE WHEN allowed > 0 THEN hour END"
_OF_BROKER: Final = "OVER (PARTITION BY broker)"
_UP_TO: Final = "OVER (PARTITION BY broker ORDER BY hour ROWS UNBOUNDED PRECEDING)"
_FROM: Final = (
    "OVER (PARTITION BY broker ORDER BY hour ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"
)
_SILENT_HOURS: Final = f"timestampdiff(HOUR, max({_ON}) {_UP_TO}, min({_ON}) {_FROM}) - 1"
_IS_USUAL: Final = (
    f"({_SILENT_HOURS}) * sum(allowed) {_OF_BROKER} <= {USUAL} * count({_ON}) {_OF_BROKER}"
)


def counted(requests: DataFrame) -> DataFrame:
    """``broker, hour, allowed, denied`` of rows of REQUESTS; hours without any are not there."""
    from pyspark.sql import functions as f

    return requests.groupBy("broker", f.date_trunc("hour", "time").alias("hour")).agg(
        f.count_if(f.col("result") == "ALLOWED").alias("allowed"),
        f.count_if(f.col("result") == "DENIED").alias("denied"),
    )


def covered(counts: DataFrame) -> DataFrame:
    """The rows of COVERAGE for what was ``counted``: from each broker's first hour to its last."""
    from pyspark.sql import functions as f

    hours = (
        counts.groupBy("broker")
        .agg(f.min("hour").alias("first"), f.max("hour").alias("last"))
        .selectExpr("broker", "explode(sequence(first, last, INTERVAL 1 HOUR)) AS hour")
    )
    every = hours.join(counts, ["broker", "hour"], "left").na.fill(0, ["allowed", "denied"])
    return every.selectExpr(
        *("broker", "hour", "allowed", "denied"),
        f"CASE WHEN {_IS_USUAL} THEN '{BOTH}' WHEN denied > 0 THEN '{DENIALS_ONLY}'"
        f" ELSE '{NOTHING}' END AS state",
        "to_date(hour) AS day",
    )

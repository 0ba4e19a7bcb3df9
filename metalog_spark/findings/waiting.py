"""The requests of a folder that ``follow`` has read and not decided yet.

What they used is not known: no window reaches past the first of them, and every ACL that could
match one is in doubt, whatever the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from metalog_spark.later import known_until_ms
from metalog_spark.tables import USAGE, WAITING
from snapshot.exchange.moment import time_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metalog_spark.folder import Tables


class Waiting(NamedTuple):
    """So many requests, the first at ``first_us``; the log is known up to ``known_ms``."""

    requests: int
    first_us: int
    known_ms: int | None

    def said(self) -> str:
        """``2 requests wait: the log is known up to …, and its ACLs of later are not``."""
        wait = "request waits" if self.requests == 1 else "requests wait"
        upto = "nowhere" if self.known_ms is None else time_text(self.known_ms)
        return (
            f"{self.requests:,} {wait}: the log is known up to {upto}, and its ACLs of later are"
            " not"
        )

    def said_of_uses(self) -> str:
        """With what that means for whoever looks for uses."""
        return f"{self.said()}; {'it' if self.requests == 1 else 'each'} may be a use"


def waiting_in(tables: Tables) -> Waiting | None:
    """None where nothing waits, as in all that ``build`` made."""
    if not tables.has(WAITING):
        return None
    requests, first_us = tables.once(WAITING, _counted)
    return Waiting(requests, first_us, known_until_ms(tables)) if requests else None


def with_waiting(usage: DataFrame, tables: Tables) -> DataFrame:
    """Rows of USAGE and those that wait, each question once; of these ``waits`` is true, and
    nothing is decided."""
    from pyspark.sql import functions as f

    rows = usage.withColumn("waits", f.lit(False))
    if waiting_in(tables) is None:
        return rows
    asked = [name for name in USAGE.columns if name in WAITING.columns]
    questions = (
        tables.read(WAITING)
        .groupBy(*asked)
        .agg(
            f.count("*").alias("requests"),
            f.min("time").alias("first_time"),
            f.max("time").alias("last_time"),
            f.lit(True).alias("waits"),
        )
    )
    return rows.unionByName(questions, allowMissingColumns=True)


def _counted(waiting: DataFrame) -> tuple[int, int]:
    [row] = waiting.selectExpr("count(*)", "unix_micros(min(time))").collect()
    return row[0], row[1] or 0

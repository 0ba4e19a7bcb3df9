"""Finds the requests that ``follow`` has not decided yet, or has not counted yet.

Waiting requests have no decision. ``follow`` decided the uncounted requests after its last orderly
end; USAGE and COVERAGE do not count these requests. Each window ends before the first waiting or
uncounted request. An ACL that such a request can use is not called unused.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.text.plurals import counted, plural
from metalog_sources.moment import time_text
from metalog_spark.decide.past_log_end import known_until_ms
from metalog_spark.store.derived_values import kept_until_commit
from metalog_spark.store.tables import DECISIONS, USAGE, WAITING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metalog_spark.store.table_store import Tables

UNCOUNTED: Final = "uncounted"
"""The folder's fact with the time of the first uncounted request, in microseconds since 1970, or
null."""


class WaitingRequests(NamedTuple):
    """The number of waiting requests, and the time of the first. The log is known up to
    ``known_ms``."""

    requests: int
    first_us: int
    known_ms: int | None

    def text(self) -> str:
        """``2 requests wait: the log is known up to …, and later ACLs are unknown``."""
        wait = counted(self.requests, "request waits", "requests wait")
        if self.known_ms is None:
            return f"{wait}: nothing of the log is known yet"
        upto = time_text(self.known_ms)
        return f"{wait}: the log is known up to {upto}, and later ACLs are unknown"

    def uses_text(self) -> str:
        """``text``, with the consequence for findings about uses."""
        return f"{self.text()}; {plural(self.requests, 'the request', 'each request')} can be a use"


class Uncounted(NamedTuple):
    """The time of the first request that is decided and not counted."""

    first_us: int

    def text(self) -> str:
        """``since its last orderly end, metalog pipeline follow decided requests of …``."""
        return (
            "since its last orderly end, metalog pipeline follow decided requests of"
            f" {time_text(self.first_us // 1000)} and later; it counts them at its next orderly end"
        )

    def uses_text(self) -> str:
        """``text``, with the consequence for findings about uses."""
        return f"{self.text()}; each request can be a use"


def waiting_in(tables: Tables) -> WaitingRequests | None:
    """The waiting requests, or None. Only a folder of ``follow`` has waiting requests."""
    if not tables.has(WAITING):
        return None
    requests, first_us = _number_and_first(tables)
    return WaitingRequests(requests, first_us, known_until_ms(tables)) if requests else None


def uncounted_in(tables: Tables) -> Uncounted | None:
    first_us = tables.facts.get(UNCOUNTED)
    return None if first_us is None else Uncounted(first_us)


def with_pending(usage: DataFrame, tables: Tables) -> DataFrame:
    """The rows of ``usage``, and a row for each distinct question of pending requests, with
    ``waits`` true and no decision. Pending are waiting requests, and decided requests
    from the first uncounted request on."""
    from pyspark.sql import functions as f

    rows = usage.withColumn("waits", f.lit(False))
    uncounted = uncounted_in(tables)
    if waiting_in(tables) is None and uncounted is None:
        return rows
    shared = [name for name in USAGE.columns if name in WAITING.columns]
    extra = tables.read(WAITING).select("time", *shared)
    if uncounted is not None:
        extra = extra.unionAll(_decided_from(tables, uncounted.first_us).select("time", *shared))
    questions = extra.groupBy(*shared).agg(
        f.count("*").alias("requests"),
        f.min("time").alias("first_time"),
        f.max("time").alias("last_time"),
        f.lit(True).alias("waits"),
    )
    return rows.unionByName(questions, allowMissingColumns=True)


def _decided_from(tables: Tables, first_us: int) -> DataFrame:
    from pyspark.sql import functions as f

    day = datetime.fromtimestamp(first_us // 1_000_000, UTC).date()
    is_later = (f.col("day") >= f.lit(day)) & (f.unix_micros("time") >= f.lit(first_us))
    return tables.read(DECISIONS).where(is_later)


@kept_until_commit
def _number_and_first(tables: Tables) -> tuple[int, int]:
    [row] = tables.read(WAITING).selectExpr("count(*)", "unix_micros(min(time))").collect()
    return row[0], row[1] or 0

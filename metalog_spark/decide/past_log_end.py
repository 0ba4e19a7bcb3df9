"""Counts requests that are newer than the metadata log.

The log's last ACLs decide these requests. A decision can be wrong if an ACL changed after the log's
last record. This module must not know findings.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from metalog.text.plurals import counted
from metalog_sources.moment import time_text
from metalog_spark.history.archive_history import KNOWN
from metalog_spark.store.derived_values import kept_until_commit
from metalog_spark.store.tables import DECISIONS, HISTORY

if TYPE_CHECKING:
    from metalog_spark.store.table_store import Tables


class PastLogEnd(NamedTuple):
    """The number of ``requests`` after ``known_ms``, the time of the log's last record."""

    requests: int
    known_ms: int

    def text(self) -> str:
        return (
            f"{counted(self.requests, 'request is', 'requests are')} newer than the log's last"
            f" record ({time_text(self.known_ms)}) and decided by the log's last ACLs; if ACLs"
            " can have changed after that time, build with a newer copy of the log"
        )


@kept_until_commit
def history_rows(tables: Tables) -> list[Any]:
    """The columns ``kind``, ``why`` and ``to_ms`` (the range's end) of HISTORY."""
    columns = ("kind", "why", "unix_millis(to_time) AS to_ms")
    return tables.read(HISTORY).selectExpr(*columns).collect()


def known_until_ms(tables: Tables) -> int | None:
    """The time of the log's last known record; None without a known range."""
    known = (row.to_ms for row in history_rows(tables) if row.kind == KNOWN)
    return max((each for each in known if each is not None), default=None) or None


def later_in(tables: Tables, start_us: int = 0, end_us: int | None = None) -> PastLogEnd | None:
    """Counts the requests past the log's end from ``start_us`` to ``end_us`` (exclusive). None
    without such requests."""
    from pyspark.sql import functions as f

    known_ms = known_until_ms(tables)
    if known_ms is None or (end_us is not None and end_us <= known_ms * 1000):
        return None
    time, first_us = f.unix_micros("time"), max(start_us, known_ms * 1000 + 1000)
    day = datetime.fromtimestamp(first_us // 1_000_000, UTC).date()
    is_later = (f.col("day") >= f.lit(day)) & (time >= f.lit(first_us))
    if end_us is not None:
        is_later &= time < f.lit(end_us)
    requests = tables.read(DECISIONS).where(is_later).count()
    return PastLogEnd(requests, known_ms) if requests else None

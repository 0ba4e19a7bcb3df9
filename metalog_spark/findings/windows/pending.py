"""The requests of a folder that ``follow`` has read and not decided yet, or not counted.

Those that wait have no decision. Those that it decided since its last orderly end are in neither
USAGE nor COVERAGE, which are of that end. So what they used is not known: no window reaches past
the first of them, and every ACL that could match one is in doubt, whatever the window.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.plurals import counted, plural
from metalog_sources.moment import time_text
from metalog_spark.decide.past_log_end import known_until_ms
from metalog_spark.store.tables import DECISIONS, USAGE, WAITING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metalog_spark.store.table_store import Tables

UNCOUNTED: Final = "uncounted"
"""The fact of when the first request was that is decided and not counted, in microseconds since
1970; null where all are."""


class Waiting(NamedTuple):
    """So many requests, the first at ``first_us``; the log is known up to ``known_ms``."""

    requests: int
    first_us: int
    known_ms: int | None

    def said(self) -> str:
        """``2 requests wait: the log is known up to …, and later ACLs are unknown``."""
        wait = counted(self.requests, "request waits", "requests wait")
        if self.known_ms is None:
            return f"{wait}: nothing of the log is known yet"
        upto = time_text(self.known_ms)
        return f"{wait}: the log is known up to {upto}, and later ACLs are unknown"

    def said_of_uses(self) -> str:
        """With what that means for whoever looks for uses."""
        return f"{self.said()}; {plural(self.requests, 'it', 'each')} may be a use"


class Uncounted(NamedTuple):
    """The first request that is decided and not counted was at ``first_us``."""

    first_us: int

    def said(self) -> str:
        """``metalog pipeline follow decided requests of … and later since its last …``."""
        return (
            f"metalog pipeline follow decided requests of {time_text(self.first_us // 1000)} and"
            " later since its last orderly end, and counts them at the next"
        )

    def said_of_uses(self) -> str:
        """With what that means for whoever looks for uses."""
        return f"{self.said()}; each may be a use"


def waiting_in(tables: Tables) -> Waiting | None:
    """None where nothing waits, as in all that ``build`` made."""
    if not tables.has(WAITING):
        return None
    requests, first_us = tables.once(WAITING, _counted)
    return Waiting(requests, first_us, known_until_ms(tables)) if requests else None


def uncounted_in(tables: Tables) -> Uncounted | None:
    """None where all that is decided is counted, as in all that ``build`` made."""
    first_us = tables.facts.get(UNCOUNTED)
    return None if first_us is None else Uncounted(first_us)


def with_waiting(usage: DataFrame, tables: Tables) -> DataFrame:
    """Rows of USAGE and of what waits or is not counted, each question once; of these ``waits``
    is true, and nothing is decided."""
    from pyspark.sql import functions as f

    rows = usage.withColumn("waits", f.lit(False))
    uncounted = uncounted_in(tables)
    if waiting_in(tables) is None and uncounted is None:
        return rows
    asked = [name for name in USAGE.columns if name in WAITING.columns]
    behind = tables.read(WAITING).select("time", *asked)
    if uncounted is not None:
        behind = behind.unionAll(_decided_from(tables, uncounted.first_us).select("time", *asked))
    questions = behind.groupBy(*asked).agg(
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


def _counted(waiting: DataFrame) -> tuple[int, int]:
    [row] = waiting.selectExpr("count(*)", "unix_micros(min(time))").collect()
    return row[0], row[1] or 0

"""Counts the logged answers of a window, and selects the requests that an authorizer can decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING

from metalog.acl import Operation, PatternType, ResourceType
from metalog.errors import InvalidSource
from metalog.text.plurals import counted
from metalog_spark.findings.windows.window import Window, usage_in
from metalog_spark.store.derived_values import kept_until_commit
from metalog_spark.store.tables import COVERAGE, DECISIONS, USAGE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metalog_spark.store.table_store import Tables


@kept_until_commit
def answers_in(tables: Tables, window: Window) -> int:
    """The number of logged answers in ``window``. Raises ``InvalidSource`` if a table has lost
    answers, or if ``askable`` leaves out an allowed request. In both cases a used ACL could look
    unused."""
    from pyspark.sql import functions as f

    first, last = window.whole_days
    cut = window.cut_days
    undecidable = f"if(result = 'ALLOWED' AND NOT coalesce({_askable()}, false), requests, 0L)"
    usage = usage_in(tables, window).selectExpr(
        "day", "requests", "0L AS decided", "0L AS lines", f"{undecidable} AS undecidable"
    )
    coverage = tables.read(COVERAGE).selectExpr(
        "day", "0L AS requests", "0L AS decided", "allowed + denied AS lines", "0L AS undecidable"
    )
    counts = usage.unionByName(coverage)
    if cut:
        decisions = tables.read(DECISIONS).where(f.col("day").isin(cut))
        decided = decisions.selectExpr(
            "day", "0L AS requests", "1L AS decided", "0L AS lines", "0L AS undecidable"
        )
        counts = counts.unionByName(decided)
    sums = [f.sum(name).alias(name) for name in ("requests", "decided", "lines", "undecidable")]
    days = counts.groupBy("day").agg(*sums).collect()
    for day, requests, decided, lines, undecidable in sorted(days):
        if first <= day < last and requests != lines:
            raise _lost_files(tables, USAGE.name, day, requests, lines)
        if day in cut and decided < lines:
            raise _lost_files(tables, DECISIONS.name, day, decided, lines)
        if undecidable:
            raise _undecidable_requests(tables, day, undecidable)
    return sum(row["requests"] for row in days)


def _lost_files(tables: Tables, name: str, day: date, requests: int, lines: int) -> InvalidSource:
    return InvalidSource(
        f"{tables.path}: the table {name} has {counted(requests, 'request')} of {day}, but"
        f" the table {COVERAGE.name} counts {lines:,}: one of these tables has lost files; restore"
        " the whole folder from a backup, or build it again"
    )


def _undecidable_requests(tables: Tables, day: date, requests: int) -> InvalidSource:
    return InvalidSource(
        f"{tables.path}: the table {USAGE.name} has {counted(requests, 'allowed request')} of"
        f" {day} that no ACL can decide (a missing field, an unknown operation or type, or no"
        " literal name), so the use of their ACLs is unknown; rebuild the folder: a build rejects"
        " and counts such requests"
    )


def askable(usage: DataFrame) -> DataFrame:
    """The rows of requests that an authorizer can decide. Such a request is complete, and has a
    known operation, a known type and a literal name."""
    return usage.where(_askable())


def _askable() -> str:
    whole = [f"{name} IS NOT NULL" for name in ("principal", "host", "resource_name")]
    words: Mapping[str, Iterable[Enum]] = {
        "pattern_type": [PatternType.LITERAL],
        "operation": Operation,
        "resource_type": ResourceType,
    }
    known = [
        f"{name} IN ({', '.join(repr(kind.name) for kind in kinds)})"
        for name, kinds in words.items()
    ]
    return " AND ".join([*whole, *known])

"""Counts the coverage and the answers over time for the charts.

A bar is a day; in a long window, one or more weeks. A team's requests are those of its principals
or for its resources. This module must not know how the counts are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.acl import PatternType, ResourceType
from metalog_spark.coverage.coverage import HOUR_US, seen_hours
from metalog_spark.findings.windows.repeated import repeated_in, with_repeated
from metalog_spark.findings.windows.window import DAY_US, Window, broker_text, touched_by, usage_in
from metalog_spark.report.contents import BOTH, DENIALS_ONLY, NOTHING, Strip
from metalog_spark.store.tables import ACL_CHANGELOG, COVERAGE, HISTORY

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from metalog_sources.formats.document import Own
    from metalog_spark.report.triage.owners import Team
    from metalog_spark.store.table_store import Tables

EVERYBODY: Final = ""
"""The name for the requests of all principals."""
_MAX_BARS: Final = 400
_WEEK: Final = 7
_LOG: Final = "metadata log"
_HourCounts = tuple[int, int, int]
"""The counts ``allowed``, ``any`` and ``repeated`` of ``seen_hours``."""


class Bars(NamedTuple):
    """``number`` bars of ``step`` days each. The first bar begins on the day ``first`` (days since
    1970)."""

    first: int
    step: int
    number: int
    window: Window

    @staticmethod
    def of(window: Window) -> Bars:
        first = window.start_us // DAY_US
        days = -(-window.end_us // DAY_US) - first
        step = 1 if days <= _MAX_BARS else _WEEK * -(-days // (_WEEK * _MAX_BARS))
        return Bars(first, step, -(-days // step), window)

    @property
    def start(self) -> date:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(self.first)).date()

    def at(self, column: str) -> str:
        """SQL for the bar with the time or day in ``column``."""
        return f"CAST((unix_date(CAST({column} AS DATE)) - {self.first}) DIV {self.step} AS INT)"

    def hours(self, bar: int) -> range:
        """The hours of the window in a bar, in hours since 1970."""
        first = self.first * 24 + bar * self.step * 24
        begin, end = self.window.start_us // HOUR_US, -(-self.window.end_us // HOUR_US)
        return range(max(begin, first), min(end, first + self.step * 24))


class Traffic(NamedTuple):
    """Requests per bar."""

    allowed: tuple[int, ...]
    denied: tuple[int, ...]

    @property
    def requests(self) -> int:
        return sum(self.allowed) + sum(self.denied)


def traffic(tables: Tables, bars: Bars, teams: Sequence[Team]) -> Mapping[str, Traffic]:
    """The traffic of each team, and of ``EVERYBODY``."""
    from pyspark.sql import functions as f

    team = f.explode(f.array_append(teams_of(teams), EVERYBODY))
    counted = (
        usage_in(tables, bars.window)
        .select(team.alias("team"), f.expr(bars.at("day")).alias("bar"), "result", "requests")
        .groupBy("team", "bar", "result")
        .agg(f.sum("requests").alias("requests"))
    )
    counts = {(row.team, row.result, row.bar): row.requests for row in counted.collect()}
    return {
        team: Traffic(
            *(
                tuple(counts.get((team, result, bar), 0) for bar in range(bars.number))
                for result in ("ALLOWED", "DENIED")
            )
        )
        for team in (EVERYBODY, *(team.name for team in teams))
    }


def teams_of(teams: Sequence[Team]) -> Column:
    """The names of the teams that a request concerns, as an array."""
    from pyspark.sql import functions as f

    theirs = [f.when(reduce(or_, map(_is_owned, team.owns)), f.lit(team.name)) for team in teams]
    return f.array_compact(f.array(*theirs)) if theirs else f.array().cast("array<string>")


def _is_owned(own: Own) -> Column:
    """``Own.covers`` as a condition on the principal and the resource of a request."""
    from pyspark.sql import functions as f

    holds = f.lit(True)
    if own.resource_type is not ResourceType.ANY:
        holds &= f.col("resource_type") == own.resource_type.name
    if own.principal is not None:
        holds &= f.col("principal") == own.principal
    if own.name is not None:
        name = f.col("resource_name")
        literal = own.pattern_type is PatternType.LITERAL
        holds &= name == own.name if literal else name.startswith(own.name)
    return holds


def changes(tables: Tables, bars: Bars) -> list[tuple[int, tuple[str, ...]]]:
    """The bar of each added or removed ACL, and the values of ``ACL_COLUMNS``."""
    from metalog_spark.findings.usage.acl_lifetimes import ACL_COLUMNS

    lifetimes = tables.read(ACL_CHANGELOG)
    start, end = bars.window.start_us, bars.window.end_us
    bars_and_acls = []
    for edge in ("from_time", "to_time"):
        inside = f"unix_micros({edge}) >= {start} AND unix_micros({edge}) < {end}"
        rows = lifetimes.where(inside).selectExpr(f"{bars.at(edge)} AS bar", *ACL_COLUMNS).collect()
        bars_and_acls += [(row[0], tuple(row[1:])) for row in rows]
    return bars_and_acls


def strips(tables: Tables, bars: Bars) -> tuple[Strip, ...]:
    """A strip for each broker, sorted by number or name, and a strip for the metadata log."""
    counts = _hours_seen(tables, bars)
    brokers = sorted({broker for broker, _ in counts}, key=_broker_order)
    broker_strips = [
        _strip(
            broker_text(broker),
            [counts.get((broker, bar), (0, 0, 0)) for bar in range(bars.number)],
            bars,
        )
        for broker in brokers
    ]
    return (*broker_strips, _strip(_LOG, _hours_known(tables.read(HISTORY), bars), bars))


def _broker_order(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isascii() and name.isdigit() else (1 << 62, name)


def _hours_seen(tables: Tables, bars: Bars) -> dict[tuple[str, int | None], _HourCounts]:
    """The hours by broker and bar. Hours outside of the window have the bar None, so that no broker
    is missing."""
    from pyspark.sql import functions as f

    inside = touched_by(bars.window)
    bar = f.when(inside, f.expr(bars.at("hour"))).alias("bar")
    coverage, is_repeated = with_repeated(tables.read(COVERAGE), repeated_in(tables, *bars.window))
    rows = coverage.groupBy("broker", bar).agg(*seen_hours(inside, is_repeated)).collect()
    return {
        (row["broker"], row["bar"]): (row["allowed"], row["any"], row["repeated"]) for row in rows
    }


def _hours_known(history: DataFrame, bars: Bars) -> list[_HourCounts]:
    """The hours of each bar for which the metadata log is known."""
    rows = history.selectExpr(
        "kind", "unix_micros(from_time) AS from_us", "unix_micros(to_time) AS to_us"
    ).collect()
    begun = min((row.from_us for row in rows if row.kind == "KNOWN" and row.from_us), default=None)
    unknown = set() if begun is not None else set(_hours(None, bars.window.end_us, bars))
    unknown.update(_hours(None, begun, bars) if begun is not None else ())
    for row in rows:
        if row.kind != "KNOWN":
            unknown.update(_hours(row.from_us, row.to_us, bars))
    known = [sum(hour not in unknown for hour in bars.hours(bar)) for bar in range(bars.number)]
    return [(hours, hours, 0) for hours in known]


def _hours(from_us: int | None, to_us: int | None, bars: Bars) -> Iterable[int]:
    begin = max(bars.window.start_us, from_us or 0) // HOUR_US
    end = bars.window.end_us if to_us is None else min(bars.window.end_us, to_us)
    return range(begin, -(-end // HOUR_US) if from_us is not None else end // HOUR_US)


def _strip(name: str, counts: Iterable[_HourCounts], bars: Bars) -> Strip:
    """A bar has the state of most of its hours. Of equally frequent states, the bar has the state
    with less coverage."""
    states, sums = "", [0, 0, 0]
    for bar, (allowed, seen, repeated) in enumerate(counts):
        hours = (allowed, seen - allowed, len(bars.hours(bar)) - repeated - seen)
        sums = [total + part for total, part in zip(sums, hours, strict=True)]
        best = max(reversed(range(3)), key=hours.__getitem__)
        states += (BOTH, DENIALS_ONLY, NOTHING)[best]
    return Strip(name, states, (sums[0], sums[1], sums[2]))


def counts_by_bar(bar_numbers: Iterable[int], bars: Bars) -> tuple[int, ...]:
    counts = [0] * bars.number
    for bar in bar_numbers:
        counts[bar] += 1
    return tuple(counts)

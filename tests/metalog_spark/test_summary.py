"""The summary of ``build`` agrees with the findings on the same tables."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from metalog_spark.findings.windows.window import WindowCoverage, coverage_in, window_of
from metalog_spark.report.traffic import Bars, strips
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import COVERAGE, POSSIBLE
from metalog_spark.summary import summary
from shell.output.output import Output
from shell.views.pipeline.build_summary import show_built

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from pyspark.sql import SparkSession

FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def hours(broker: str, begin: int, states: str, *, led: bool = False) -> Iterator[tuple[Any, ...]]:
    """Rows of COVERAGE, a letter each."""
    names = {"B": (2, 1, "BOTH"), "D": (0, 1, "DENIALS_ONLY"), "N": (0, 0, "NOTHING")}
    for number, letter in enumerate(states, begin):
        hour = FIRST + timedelta(hours=number)
        yield broker, hour, *names[letter], led and letter == "B", 0, hour.date()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [*hours("1", 0, "BBD"), *hours("two", 1, "BNNNB" * 6, led=True)],
            "62  broker-hours: allowed requests logged in 14, denials alone in 1, nothing in 47"
            " (most missing: broker 1, 29 hours); controllers logged allowed requests in"
            " 12 of 31 hours",
        ),
        (
            [*hours("1", 3, "BB", led=True)],
            "2  broker-hours: allowed requests logged in 2, denials alone in 0, nothing in 0;"
            " controllers logged allowed requests in 2 of 2 hours",
        ),
        (
            [],
            "0  broker-hours: allowed requests logged in 0, denials alone in 0, nothing in 0;"
            " controllers logged allowed requests in 0 of 0 hours",
        ),
    ],
)
def test_what_is_not_known_is_counted_as_findings_count_it(
    spark: SparkSession, tmp_path: Path, rows: list[tuple[Any, ...]], said: str
) -> None:
    """Each broker in every hour of the whole span, whenever it came and went."""
    tables = Tables.make(spark, tmp_path)
    tables.replace(COVERAGE, frame_of(spark, rows, COVERAGE.schema))
    found = summary(tables)
    assert found.seen == (
        coverage_in(tables, window_of(tables)) if rows else WindowCoverage(0, 0, 0)
    )
    assert (found.allowed, found.denied) == (sum(r[2] for r in rows), sum(r[3] for r in rows))
    out = io.StringIO()
    show_built(found, Output(out, io.StringIO()))
    [line] = [each for each in out.getvalue().splitlines() if each.startswith("coverage")]
    assert line.removeprefix("coverage").strip() == said
    assert "0 not known\n" in out.getvalue()
    show_built(found._replace(not_known=3), Output(out, io.StringIO()))
    assert ", 3 not known (in a gap of the log, or before the log; " in out.getvalue()


TURN = datetime(2026, 10, 25, 1, tzinfo=UTC)
"""The time at which clocks in Europe/Berlin are set back: 00:00 to 02:00 has their hour from
02:00 to 03:00 twice."""


@pytest.mark.parametrize("states", ["BDNB", "BBNB", "DDDD", "NDNB"])
def test_hours_that_came_twice_are_in_no_share_unless_they_were_logged(
    spark: SparkSession, tmp_path: Path, states: str
) -> None:
    """The summary, the report's strips and the findings count the same hours."""
    begin = (TURN - FIRST) // timedelta(hours=1) - 2
    rows = [*hours("1", begin, states), *hours("2", begin, "BBBB", led=True)]
    second = {"time": TURN + timedelta(minutes=9), "broker": "1", "zone": "Europe/Berlin"}
    tables = Tables.make(spark, tmp_path)
    tables.replace(COVERAGE, frame_of(spark, rows, COVERAGE.schema))
    possible = [tuple(second.get(name) for name in POSSIBLE.columns)]
    tables.replace(POSSIBLE, frame_of(spark, possible, POSSIBLE.schema))
    window = window_of(tables)

    found = summary(tables).seen
    only_in_findings = {"repeated": (), "clocks": (), "ambiguous": 0}
    assert found == coverage_in(tables, window)._replace(**only_in_findings)
    left_out = sum(state != "B" for state in states[1:3])
    assert found.hours == 8 - left_out
    *brokers, _ = strips(tables, Bars.of(window))
    assert tuple(map(sum, zip(*(strip.hours for strip in brokers), strict=True))) == (
        found.hours - found.without_allowed,
        found.without_allowed - found.without_any,
        found.without_any,
    )

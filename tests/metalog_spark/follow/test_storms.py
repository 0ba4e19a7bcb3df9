"""Spark counts denials and finds storms as a walk over every request does."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import count, takewhile
from typing import TYPE_CHECKING

import pytest

from metalog_spark.follow.alerts import WINDOW_MS, Storm
from metalog_spark.follow.storms import denials_of, find_storms, with_denials
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.tables import DENIALS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STORM_FROM = 3
WEEK_MS = 7 * 24 * 3600 * 1000
ANSWERS = (
    "time TIMESTAMP, principal STRING, operation STRING, resource_type STRING,"
    " resource_name STRING, result STRING"
)
Access = tuple[str, str, str]
"""An operation, a resource type and a resource name."""
Line = tuple[int, str, Access, str]
"""The time in milliseconds, the principal, the access, and the broker's answer."""


class Scan:
    """The law, by a walk over the lines of each batch."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[int, str]] = Counter()
        self.mostly: dict[tuple[int, str], Access] = {}

    def batch(self, lines: Sequence[Line]) -> list[Storm]:
        """The storms that the batch begins."""
        before = self.counts.copy()
        asked: dict[tuple[int, str], Counter[Access]] = {}
        for time_ms, principal, what, result in lines:
            if result == "DENIED":
                window = time_ms // WINDOW_MS * WINDOW_MS, principal
                self.counts[window] += 1
                asked.setdefault(window, Counter())[what] += 1
        for window, of_window in asked.items():
            self.mostly[window] = max(of_window, key=lambda what: (of_window[what], what))
        storms = [
            Storm(*windows[0], self.counts[windows[0]], *self.mostly[windows[0]])
            for windows in self.storms()
            if all(before[window] < STORM_FROM for window in windows)
        ]
        newest = max((since_ms for since_ms, _ in self.counts), default=0)
        for window in [*self.counts]:
            if window[0] <= newest - WEEK_MS:
                del self.counts[window]
        return storms

    def storms(self) -> list[list[tuple[int, str]]]:
        """The windows of each storm."""
        storms: list[list[tuple[int, str]]] = []
        windows = {window for window, denied in self.counts.items() if denied >= STORM_FROM}
        for since_ms, principal in sorted(windows):
            if (since_ms - WINDOW_MS, principal) not in windows:
                starts = (since_ms + number * WINDOW_MS for number in count())
                every = ((each_ms, principal) for each_ms in starts)
                storms.append([*takewhile(windows.__contains__, every)])
        return storms

    def rows(self) -> set[tuple[object, ...]]:
        return {
            (principal, since_ms, denied, *self.mostly[since_ms, principal])
            for (since_ms, principal), denied in self.counts.items()
        }


def drawn(chance: random.Random, base_ms: int) -> list[Line]:
    """Two principals' requests in five windows, some exactly at a window's edge."""
    return [
        (
            base_ms + chance.randrange(5) * WINDOW_MS + chance.choice((0, 1, WINDOW_MS - 1)),
            chance.choice(("User:a", "User:b")),
            (chance.choice(("READ", "WRITE")), "TOPIC", chance.choice(("t", "u"))),
            chance.choice(("DENIED", "DENIED", "ALLOWED")),
        )
        for _ in range(chance.randrange(40))
    ]


def answers(spark: SparkSession, lines: Iterable[Line]) -> object:
    rows = ((time_ms * 1000, who, *what, result) for time_ms, who, what, result in lines)
    return frame_of(spark, rows, ANSWERS)


@pytest.mark.parametrize("seed", [1])
def test_however_lines_are_cut_into_batches_a_walk_over_them_finds_the_same(
    spark: SparkSession, seed: int
) -> None:
    chance, scan = random.Random(seed), Scan()
    table = frame_of(spark, [], DENIALS.schema)
    for base_ms in (0, 0, WINDOW_MS, WEEK_MS + 2 * WINDOW_MS):
        lines = drawn(chance, base_ms)
        found = find_storms(with_denials(table, denials_of(answers(spark, lines))), STORM_FROM)
        assert list(found.storms) == scan.batch(lines)
        rows = found.denials.selectExpr(
            "principal", "unix_millis(since)", "denied", *DENIALS.columns[-3:]
        ).collect()
        assert {tuple(row) for row in rows} == scan.rows()
        assert len(rows) == len(scan.counts)
        table = frame_of(spark, map(tuple, found.denials.collect()), DENIALS.schema)

"""The goals of the benchmark, beside the measured figures.

By a goal's key, ``unmet.toml`` has the reason why the goal is not met, and what was tried. The
reason is shown only if the figures miss the goal. This module must not measure.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from measured import COLD, FIRST_DECISION, WALL, Results, Seconds, bytes_an_acl, middle

REASONS = Path(__file__).with_name("unmet.toml")

AHEAD = {
    "W1-kafka-bench": 100,
    "W2-plain-hot": 1,
    "W3-plain-uniform": 3,
    "W4-plain-zipf": 3,
    "W5-plain-miss": 1,
    "W6-long-names": 3,
    "W7-nested": 3,
    "W7b-chain": 1,
    "W9-one-resource": 100,
}
"""Kafka's time divided by ours, with our cache in use."""


class Goal(NamedTuple):
    """A goal for one figure. ``key`` finds the reason in unmet.toml. With ``is_most``, ``bound`` is
    the largest allowed figure, else the smallest."""

    key: str
    title: str
    bound: float
    measured: float
    unit: str = "times"
    is_most: bool = False

    @property
    def is_met(self) -> bool:
        return self.measured <= self.bound if self.is_most else self.measured >= self.bound


def all_of(results: Results) -> list[Goal]:
    return [
        *_of_decisions(results),
        *_of_cold_decisions(results),
        *_of_many(results),
        *_of_blocks(results),
        *_of_changes(results),
        *_of_replay(results),
    ]


def reasons() -> dict[str, str]:
    with REASONS.open("rb") as file:
        return tomllib.load(file)


def _of_decisions(results: Results) -> Iterator[Goal]:
    for name, sides in results.decisions.items():
        yield Goal(f"{name}", f"{name}: ahead of Kafka", AHEAD[name], sides.ratio("authorize"))
    for answer in ("allowed", "denied"):
        ratio = results.by_type.ratio(answer)
        yield Goal(f"W8 {answer}", f"W8, {answer}: ahead of Kafka", 1_000, ratio)
    yield Goal("list", "listing all ACLs: ahead of Kafka", 1, results.by_type.ratio("list_all"))


def _of_cold_decisions(results: Results) -> Iterator[Goal]:
    for name, sides in results.cold.items():
        kafka, ours, _ = COLD[name]
        ratio = sides.ratio(ours, kafka=kafka)
        yield Goal(f"cold {name}", f"{name}, with an empty cache: ahead of Kafka", 1, ratio)


def _of_many(results: Results) -> Iterator[Goal]:
    figures = results.many_actions.ours
    gain = middle(figures, "single") / (middle(figures, "many") / results.many)
    title = f"{results.many:,} actions in one call: time of an action, ahead of single calls"
    yield Goal("many", title, 1, gain)
    for rows, bound in (("skewed", 1_000_000), ("distinct", 400_000)):
        a_second = 1e9 / middle(results.bulk.ours, rows)
        yield Goal(f"bulk {rows}", f"decisions on columns, {rows}", bound, a_second, "a second")


def _of_blocks(results: Results) -> Iterator[Goal]:
    figures = results.blocks.ours
    slower = middle(figures, "with") / middle(figures, "without")
    title = "CIDR blocks in a tenth of the ACLs: time divided by that without"
    yield Goal("blocks", title, 1.2, slower, is_most=True)


def _of_changes(results: Results) -> Iterator[Goal]:
    yield Goal("add", "load one by one: ahead of Kafka", 1, results.load.ratio("add"))
    yield Goal("snapshot", "load a snapshot: ahead of Kafka", 4, results.load.ratio("snapshot"))
    change_us = middle(results.update.ours, "update") / 2 / 1e3
    yield Goal("update", "change one ACL of 500,000", 50, change_us, "µs", is_most=True)
    yield Goal("update ratio", "change one ACL: ahead of Kafka", 1, results.update.ratio("update"))
    ours, kafka = bytes_an_acl(results.heap.ours), bytes_an_acl(results.heap.kafka)
    yield Goal("memory", "memory an ACL, Kafka's at most", kafka, ours, "bytes", is_most=True)


def _of_replay(results: Results) -> Iterator[Goal]:
    replay = results.replay
    ready = "from disk to a ready authorizer: ahead of Kafka"
    yield Goal("replay", ready, 4, replay.ratio("ready"))
    pause = middle(replay.ours, "longest_pause_ms")
    yield Goal("pause", "longest pause of the collector", 20, pause, "ms", is_most=True)
    seconds = _first_decisions(results.start_ups)
    yield Goal("start", f"{FIRST_DECISION}: ahead of Kafka", 1, seconds["kafka"] / seconds["ours"])


def _first_decisions(start_ups: Seconds) -> dict[str, float]:
    return {side: start_ups[f"{side}: {FIRST_DECISION}"][WALL] for side in ("kafka", "ours")}

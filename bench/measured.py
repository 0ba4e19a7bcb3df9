"""The figures of one run of the benchmark, on each side, and their medians.

This module must not measure, nor know the goals.
"""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

Figures = dict[str, list[tuple[float, float]]]
"""By name: elapsed and CPU nanoseconds per operation, one pair per round."""
Seconds = dict[str, tuple[float, float]]
WALL, CPU = 0, 1

FIRST_DECISION = "from start to the first decision over 500,000 ACLs"
LAPS = 10
"""How many times the columns repeat the skewed list of W4."""
SIDES = ("kafka", "ours")


COLD = {
    "W10-fleet": ("authorize", "first_pass", 1),
    "W11-churn": ("round", "round", 20),
    "W12-page": ("page", "first", 504),
    "W13-sensors": ("authorize", "first_pass", 1),
    "W14-domains": ("round", "round", 20),
    "W15-tables": ("page", "first", 1_500),
}
"""Workloads that a cache cannot speed up: Kafka's figure, ours, and the number of decisions."""


class Sides(NamedTuple):
    """The figures of one job on Kafka's side and on ours."""

    kafka: Figures
    ours: Figures

    def ratio(self, figure: str, of: int = CPU, *, kafka: str = "") -> float:
        """Kafka's time divided by ours for the same ``figure``; ``kafka`` names Kafka's figure if
        it differs."""
        return middle(self.kafka, kafka or figure, of) / middle(self.ours, figure, of)


class Results(NamedTuple):
    """``many`` is the number of actions of one call in ``many_actions``."""

    decisions: dict[str, Sides]
    cold: dict[str, Sides]
    by_type: Sides
    many: int
    many_actions: Sides
    bulk: Sides
    blocks: Sides
    load: Sides
    update: Sides
    heap: Sides
    replayed: int
    replay: Sides
    start_ups: Seconds
    libraries: dict[str, Figures]


def middle(figures: Figures, name: str, of: int = CPU) -> float:
    return median(pair[of] for pair in figures[name])


def bytes_an_acl(figures: Figures) -> float:
    return middle(figures, "objects") + middle(figures, "index")

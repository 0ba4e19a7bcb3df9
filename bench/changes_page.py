"""Formats the results of ``changes`` as the page bench/changes.md.

This module must not measure, and holds no number.
"""

from __future__ import annotations

import os
import platform
import time
from statistics import median
from typing import Any, NamedTuple

_LOAD = os.getloadavg()[0]
LINGER = "controller.quorum.append.linger.ms"
OURS = "kraft-metalog"
_CREATES = f"""\
## Durable creates

Each caller creates an ACL, waits until that is durable and in force, and creates the next. Kafka's
callers have a Java Admin client each and ask a broker and controller in one process over loopback;
its CPU is theirs and the server's. Ours call `Replica.create_acls` inside their own process,
without a network; the replica publishes to an authorizer. Both sync each group to the same disk.
Kafka waits `{LINGER}` (25) for a group to fill, unless that is 0; its broker hands one request at
a time to the controller, which can be asked directly too."""
_SNAPSHOTS = """\
## A snapshot of 500,000 ACLs

Nanoseconds per ACL, in Kafka's format on both sides: each side can read the other's snapshot. A
ratio above 1 means that ours is ahead."""


class Round(NamedTuple):
    """The number of ACLs created in ``wall_s``, and the CPU time of all processes involved."""

    creates: int
    wall_s: float
    cpu_s: float


def page(
    creates: dict[str, dict[int, list[Round]]],
    snapshots: tuple[dict[str, Any], dict[str, Any]],
    command: str,
    kafka_version: str,
) -> str:
    parts = [
        heading("Changes, Kafka's and ours side by side", command, kafka_version),
        _CREATES,
        _of_creates(creates),
        _SNAPSHOTS,
        _of_snapshots(*snapshots),
    ]
    return "\n\n".join(parts) + "\n"


def heading(title: str, command: str, kafka_version: str) -> str:
    return (
        f"# {title}\n\n"
        f"Written by `{command}` on {time.strftime('%Y-%m-%d')}; no number here is typed by hand. "
        f"{os.cpu_count()} CPUs with a load of {_LOAD:.1f} before it, {platform.system()} "
        f"{platform.machine()}, Kafka {kafka_version}, Python {platform.python_version()}; medians "
        "of the rounds."
    )


def _of_creates(creates: dict[str, dict[int, list[Round]]]) -> str:
    rows = []
    for callers, ours in creates[OURS].items():
        for side, by_callers in creates.items():
            rounds = by_callers[callers]
            ratios = [_speed(ours) / _speed(rounds), _cost(rounds) / _cost(ours)]
            ratio_cells = ["", ""] if side == OURS else [f"{ratio:.2f}" for ratio in ratios]
            cost = f"{_cost(rounds) * 1e6:,.0f}"
            rows.append([str(callers), side, f"{_speed(rounds):,.0f}", cost, *ratio_cells])
    heads = ["callers", "side", "creates/s", "CPU µs each", "ours is faster by", "cheaper by"]
    return table(heads, rows)


def _of_snapshots(kafka: dict[str, Any], ours: dict[str, Any]) -> str:
    rows = []
    for figure, title in (("write", "written and synced"), ("load", "loaded into an image")):
        row = [title]
        for kind in (0, 1):
            theirs, mine = (median(pair[kind] for pair in side[figure]) for side in (kafka, ours))
            row += [f"{theirs:,.0f}", f"{mine:,.0f}", f"{theirs / mine:.2f}"]
        rows.append(row)
    heads = ["", "Kafka, clock", "ours", "ratio", "Kafka, CPU", "ours", "ratio"]
    return table(heads, rows)


def _speed(rounds: list[Round]) -> float:
    return median(one.creates / one.wall_s for one in rounds)


def _cost(rounds: list[Round]) -> float:
    """CPU seconds per creation; a round without an answer has no such figure."""
    return median(one.cpu_s / one.creates for one in rounds if one.creates)


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

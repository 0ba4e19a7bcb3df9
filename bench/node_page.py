"""Formats the results of ``node`` as the page bench/node.md.

This module must not measure, and holds no number except how many clients there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from changes_page import LINGER, OURS, heading, table

IDLE, BUSY, LISTERS, LISTED = 2_000, 64, 4, 10_000

_WHO = f"""\
Kafka is a broker and controller in one process, as its own script starts it, with its authorizer;
a node is `metalog serve`, which is also both. {IDLE:,} clients are connected and silent meanwhile.
All clients are one Python process on the same machine, over loopback and without TLS: it sends
both sides the same bytes and only counts the answers. No figure includes its CPU, but it competes
with the server for the cores. p99 is the time in which 99 of 100 requests were answered."""
_CREATES = f"""\
## Durable creates by {BUSY} clients

Each creates an ACL, waits for the answer that it is durable, and creates the next. Kafka waits
`{LINGER}` (25) milliseconds for more records to write together, unless that is 0."""
_LISTS = f"""\
## Lists of {LISTED:,} ACLs to {LISTERS} clients

Each asks for all ACLs and, when it has them, asks again; first while no ACL changes, then while
one is created and deleted without a pause. A node keeps the answer until an ACL changes."""
_MEMORY = f"""\
## Memory

Resident memory (RSS) in MiB: without clients, with the {IDLE:,}, and then while the {BUSY} create
and delete an ACL by turns, of which nothing is left: when they have warmed up, at the most, and at
the end. Java is given its heap whole (`-Xms1g`) and touches it as it goes."""


class Load(NamedTuple):
    """Answers per second, the 99th percentile of the waiting time, and the server's CPU time per
    answer."""

    per_s: float
    p99_s: float
    cpu_s: float


class NodeFigures(NamedTuple):
    """One side's rounds of each load, and its memory in MiB."""

    creates: Sequence[Load]
    lists: Sequence[Load]
    lists_of_changed: Sequence[Load]
    at_start: float
    with_idle: float
    lasting: Sequence[float]


def page(found: Mapping[str, NodeFigures], command: str, kafka_version: str) -> str:
    parts = [
        heading("A node and Kafka side by side", command, kafka_version),
        _WHO,
        _CREATES,
        _loads({"": {side: figures.creates for side, figures in found.items()}}, "creates/s", 0),
        _LISTS,
        _loads(
            {
                "no ACL changes": {side: figures.lists for side, figures in found.items()},
                "one does": {side: figures.lists_of_changed for side, figures in found.items()},
            },
            "lists/s",
            1,
        ),
        _MEMORY,
        _memory(found),
    ]
    return "\n\n".join(parts) + "\n"


def _loads(kinds: Mapping[str, Mapping[str, Sequence[Load]]], what: str, digits: int) -> str:
    rows = []
    for kind, sides in kinds.items():
        for side, rounds in sides.items():
            per_s, p99_s, cpu_s = (median(column) for column in zip(*rounds, strict=True))
            ours = median(each.per_s for each in sides[OURS])
            faster = "" if side == OURS else f"{ours / per_s:.2f}"
            row = [side, f"{per_s:,.{digits}f}", f"{p99_s * 1000:,.0f}", f"{cpu_s * 1e6:,.0f}"]
            rows.append([*([kind] if kind else []), *row, faster])
    heads = ["side", what, "p99, ms", "CPU µs each", "ours is faster by"]
    return table([*([""] if len(kinds) > 1 else []), *heads], rows)


def _memory(found: Mapping[str, NodeFigures]) -> str:
    rows = []
    for side, figures in found.items():
        begun, *_, ended = figures.lasting
        sizes = (figures.at_start, figures.with_idle, begun, max(figures.lasting), ended)
        rows.append([side, *(f"{mebibytes:,.0f}" for mebibytes in sizes)])
    return table(["side", "alone", f"{IDLE:,} idle", "warm", "at the most", "at the end"], rows)

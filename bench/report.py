"""Turns what was measured into the page bench/results.md: tables, ratios, goals.

It must not measure, and holds no number but the goals.
"""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import NamedTuple

Figures = dict[str, list[tuple[float, float]]]
Seconds = dict[str, tuple[float, float]]

FIRST_DECISION_KAFKA = "Kafka: from start to the first decision over 500,000 ACLs"
FIRST_DECISION_OURS = "ours: the same"
WALL, CPU = 0, 1
_BUSY = (
    "**The machine was busy with other work.** Even CPU time suffers when caches and memory "
    "are shared, and Kafka's, whose decisions walk more memory, the more: these ratios "
    "are likely too good. Measure again on a quiet machine."
)

GOALS = {
    "W1-kafka-bench": 100,
    "W2-plain-hot": 1,
    "W3-plain-uniform": 3,
    "W4-plain-zipf": 3,
    "W5-plain-miss": 1,
    "W6-long-names": 3,
    "W7-nested": 3,
    "W7b-chain": 1,
    "W9-one-resource": 100,
    "allowed": 1_000,
    "denied": 1_000,
    "list_all": 1,
    "add": 1,
    "snapshot": 4,
    "update": 1,
    "heap": 1,
    "ready": 4,
}
"""By how much ours is to be ahead, pure Python."""


class Pair(NamedTuple):
    kafka: Figures
    ours: Figures


class Results(NamedTuple):
    decisions: dict[str, Pair]
    by_type: Pair
    load: Pair
    update: Pair
    heap: Pair
    replayed: int
    replay: Pair
    start_ups: Seconds
    libraries: dict[str, Figures]


def page(results: Results, *, is_quick: bool, began: float, busy: float, root: Path) -> str:
    command = "make bench-quick" if is_quick else "make bench"
    parts = [
        "# Kafka's authorizer and ours, side by side",
        f"Written by `{command}`; no number here is typed by hand. " + _machine(began, busy, root),
        *([_BUSY] if busy > (os.cpu_count() or 1) / 2 else []),
        "Unless it says otherwise a figure is CPU time of the whole process, garbage collector "
        "included, in nanoseconds an operation: the median over all rounds of all passes, Kafka "
        "and ours in turn, each in a fresh process. A ratio is Kafka's figure over ours, so "
        "above 1 ours is ahead; a goal not met is **bold**. Pure Python, nothing compiled.",
        _decisions(results.decisions),
        _by_type(results.by_type),
        _changes(results),
        _replay(results),
        _starts(results.start_ups),
        _libraries(results.libraries),
    ]
    return "\n\n".join(parts) + "\n"


def _decisions(decisions: dict[str, Pair]) -> str:
    rows = []
    for name, pair in decisions.items():
        alone = _middle(pair.kafka, "decision"), _middle(pair.ours, "decision")
        rows.append(
            [
                name,
                *_compared(pair, "authorize", goal=GOALS[name]),
                _ns(alone[0]),
                _ns(alone[1]),
                _ratio(alone[0] / alone[1], GOALS[name]),
                _ns(_middle(pair.ours, "first_pass")),
                _ns(_middle(pair.ours, "rule")),
            ]
        )
    heads = ["workload", *_COMPARED, "Kafka, decision alone", "ours, `is_allowed`", "ratio"]
    table = _table([*heads, "ours, first pass", "ours, with its rule"], rows)
    return (
        "## Decisions\n\n`authorize` of one action on either side. Kafka's also records two "
        "metrics, so its decision alone stands beside it. Ours remembers answers as long as its "
        "ACLs stay: *first pass* is the mean over one pass through the requests when nothing is "
        "remembered yet. *With its rule* also finds the ACL that decided.\n\n" + table
    )


def _by_type(pair: Pair) -> str:
    rows = [
        [said, *_compared(pair, figure, goal=GOALS[figure])]
        for figure, said in (
            ("allowed", "W8 `authorizeByResourceType`, allowed"),
            ("denied", "W8 `authorizeByResourceType`, denied"),
            ("list_all", "W8 list of all ACLs"),
        )
    ]
    first = _ns(_middle(pair.ours, "allowed_first"))
    return (
        "## By resource type\n\n"
        + _table(["workload", *_COMPARED], rows)
        + f"\n\nOurs answers from an index that it makes when first asked: {first} ns, once."
    )


def _changes(results: Results) -> str:
    rows = [
        ["load, one by one, an ACL", *_compared(results.load, "add", goal=GOALS["add"])],
        ["load a snapshot, an ACL", *_compared(results.load, "snapshot", goal=GOALS["snapshot"])],
        [
            "remove one of 500,000 and add it again",
            *_compared(results.update, "update", goal=GOALS["update"]),
        ],
    ]
    heap = results.heap
    kafka = {name: _middle(heap.kafka, name) for name in ("objects", "index")}
    ours = {name: _middle(heap.ours, name) for name in ("objects", "index")}
    memory = [
        [
            said,
            f"{kafka_bytes:.0f}",
            f"{our_bytes:.0f}",
            _ratio(kafka_bytes / our_bytes, goal),
            f"{goal:,}" if goal else "",
        ]
        for said, kafka_bytes, our_bytes, goal in (
            ("ids, ACLs and their strings", kafka["objects"], ours["objects"], 0),
            ("index", kafka["index"], ours["index"], 0),
            ("together", sum(kafka.values()), sum(ours.values()), GOALS["heap"]),
        )
    ]
    return (
        "## Loading, changing, memory\n\n"
        + _table(["workload", *_COMPARED], rows)
        + "\n\nBytes an ACL at 500,000 ACLs. Kafka: used heap after full collections. Ours: what "
        "Python's allocator holds (`tracemalloc`) of the image that a replay made, and what the "
        "authorizer adds.\n\n" + _table(["memory", "Kafka", "ours", "ratio", "goal"], memory)
    )


def _replay(results: Results) -> str:
    pair = results.replay
    rows = []
    for figure, said in (
        ("decode", "decode, checksums included"),
        ("apply", "and apply to an image"),
        ("ready", "and make the authorizer ready"),
    ):
        per_second = 1e9 / _middle(pair.ours, figure)
        compared = _compared(pair, figure, goal=GOALS.get(figure, 0))
        rows.append([said, *compared, f"{per_second:,.0f}"])
    pause = _middle(pair.ours, "longest_pause_ms")
    return (
        f"## Replay\n\nA log of {results.replayed:,} ACL records, from disk, a record.\n\n"
        + _table(["workload", *_COMPARED, "ours, records a second of CPU"], rows)
        + f"\n\nOur longest pause for garbage collection meanwhile: {pause:.1f} ms."
    )


def _starts(start_ups: Seconds) -> str:
    rows = [[name, f"{wall:.3f}", f"{cpu:.3f}"] for name, (wall, cpu) in start_ups.items()]
    return "## Start-up\n\nSeconds from a process's start to its end.\n\n" + _table(
        ["process", "by the clock", "CPU"], rows
    )


def _libraries(libraries: dict[str, Figures]) -> str:
    ours = _middle(libraries["kraft-metalog"], "decision")
    rows = [
        [name, _ns(_middle(found, "decision")), _ratio(_middle(found, "decision") / ours)]
        for name, found in libraries.items()
    ]
    return (
        "## General authorization libraries\n\n1,000 ACLs, the same questions and the same "
        "answers; policies parsed once beforehand.\n\n"
        + _table(["library", "ns a decision", "ratio"], rows)
    )


_COMPARED = ("Kafka", "ours", "ratio", "goal", "ratio by the clock")


def _compared(pair: Pair, figure: str, *, goal: float) -> list[str]:
    kafka, ours = _middle(pair.kafka, figure), _middle(pair.ours, figure)
    by_clock = _middle(pair.kafka, figure, WALL) / _middle(pair.ours, figure, WALL)
    said = f"{goal:,}" if goal else ""
    return [_ns(kafka), _ns(ours), _ratio(kafka / ours, goal), said, _ratio(by_clock)]


def _middle(figures: Figures, name: str, of: int = CPU) -> float:
    return median(pair[of] for pair in figures[name])


def _ns(value: float) -> str:
    return f"{value:,.0f}"


def _ratio(value: float, goal: float = 0) -> str:
    said = f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.0f}"
    return f"**{said}**" if value < goal else said


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _machine(began: float, busy: float, root: Path) -> str:
    commit = _said(["git", "-C", str(root), "describe", "--always", "--dirty"])
    java = _said(["java", "-version"]).splitlines()[0]
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(began))
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return (
        f"{when}, commit {commit}, {python}, {java}, Kafka {_kafka_version(root)}, "
        f"{_processor()} with {os.cpu_count()} cores, load {busy:.1f} at the start, "
        f"{(time.time() - began) / 60:.0f} minutes."
    )


def _said(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip()


def _kafka_version(root: Path) -> str:
    pom = (root / "bench" / "peer" / "pom.xml").read_text()
    return pom.partition("<kafka.version>")[2].partition("<")[0]


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()

"""Formats the measured figures as the page bench/results.md: goals, tables, ratios.

This module must not measure, and holds no number.
"""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import goals
from measured import COLD, CPU, LAPS, WALL, Figures, Results, Seconds, Sides, bytes_an_acl, middle

_BUSY = (
    "**The machine was busy with other work.** Even CPU time suffers when caches and memory "
    "are shared, and Kafka's suffers more, because its decisions read more memory. So these"
    " ratios are likely too good. Measure again on a quiet machine."
)


ONE_REQUEST = ("W1-kafka-bench", "W2-plain-hot")
"""Workloads with only one request, whose first pass would be a single call."""


def page(results: Results, *, is_quick: bool, began: float, busy: float, root: Path) -> str:
    command = "make bench-quick" if is_quick else "make bench"
    parts = [
        "# Kafka's authorizer and ours, side by side",
        f"Written by `{command}`; no number here is typed by hand. " + _machine(began, busy, root),
        *([_BUSY] if busy > (os.cpu_count() or 1) / 2 else []),
        "Unless it says otherwise a figure is CPU time of the whole process, garbage collector "
        "included, in nanoseconds an operation: the median over all rounds of all passes, each "
        "side in turn, each in a fresh process. A ratio is Kafka's figure over ours, so above 1 "
        "ours is ahead; *clock* is the same ratio in time by the clock.",
        _goals(goals.all_of(results), goals.reasons()),
        _decisions(results.decisions),
        _first_passes(results.decisions),
        _cold(results.cold),
        _by_type(results.by_type),
        _many(results),
        _blocks(results),
        _changes(results),
        _replay(results),
        _starts(results.start_ups),
        _libraries(results.libraries),
    ]
    return "\n\n".join(parts) + "\n"


def _goals(listed: list[goals.Goal], reasons: dict[str, str]) -> str:
    rows = []
    for goal in listed:
        relation = "at most" if goal.is_most else "at least"
        met = "met" if goal.is_met else "**not met**"
        measured = f"{_short(goal.measured)} {goal.unit}"
        rows.append([goal.title, f"{relation} {_short(goal.bound)}", measured, met])
    unmet = [goal for goal in listed if not goal.is_met]
    because = "".join(
        f"\n\n**{goal.title}.** {reasons.get(goal.key, 'No reason is known yet.')}"
        for goal in unmet
    )
    return (
        f"## Goals\n\n{len(listed) - len(unmet)} of {len(listed)} are met; a ratio here is one of "
        "CPU time.\n\n" + _table(["what", "goal", "measured", ""], rows) + because
    )


def _decisions(decisions: dict[str, Sides]) -> str:
    rows = []
    for name, sides in decisions.items():
        rows.append([name, *_compared(sides, "authorize"), _short(sides.ratio("decision"))])
    heads = ["workload", *_COMPARED, "alone"]
    return (
        "## Decisions, asked again and again\n\n`authorize` of one action on each side. Ours "
        "caches the answers of frequent sessions until an ACL that matches them changes. These "
        "times use the cache; the next two tables do not. Kafka's also "
        "records two metrics, so *alone* compares its bare decision with our `is_allowed`.\n\n"
        + _table(heads, rows)
    )


def _first_passes(decisions: dict[str, Sides]) -> str:
    rows = []
    for name, sides in decisions.items():
        if name in ONE_REQUEST:
            continue
        kafka, first = middle(sides.kafka, "authorize"), middle(sides.ours, "first_pass")
        rule = middle(sides.ours, "rule")
        rows.append([f"first {name}", _ns(kafka), _ns(first), _short(kafka / first), _ns(rule)])
    return (
        "## Decisions, asked for the first time\n\nThe mean over one pass through the list of "
        "requests with an empty cache, beside Kafka's figure above, which is that of a warm JVM. "
        "*With its rule*: also the deciding ACL, as in an audit line, which is never cached.\n\n"
        + _table([*_COMPARED_ONCE, "with its rule"], rows)
    )


def _cold(cold: dict[str, Sides]) -> str:
    rows = []
    for name, sides in cold.items():
        kafka, ours, decisions = COLD[name]
        theirs = middle(sides.kafka, kafka) / decisions
        own = middle(sides.ours, ours) / decisions
        rows.append([f"cold {name}", _ns(theirs), _ns(own), _short(theirs / own)])
    return (
        "## Decisions that a cache cannot speed up\n\n*W10*: 100,000 clients with certificate"
        " names, each about twice in the list, and 14,500 ACLs. *W11*: a round removes and"
        " adds one of 200,000 ACLs, and decides 20 requests; the figure is a twentieth of a"
        " round. *W12*: one call about 504 topics by an authorizer with an empty cache, 5,800"
        " ACLs. *W13* to *W15* are variants of these: 60,000 devices and 80,000 names, each"
        " two or three times in the list; 120,000 ACLs, one for each name; 1,500 topics below"
        " 23 prefixes. The time of a decision:\n\n" + _table(_COMPARED_ONCE, rows)
    )


def _by_type(sides: Sides) -> str:
    rows = [
        [title, *_compared(sides, figure)]
        for figure, title in (
            ("allowed", "W8 `authorizeByResourceType`, allowed"),
            ("denied", "W8 `authorizeByResourceType`, denied"),
            ("list_all", "W8 list of all ACLs"),
        )
    ]
    first = _ns(middle(sides.ours, "allowed_first"))
    return (
        "## By resource type\n\n"
        + _table(["workload", *_COMPARED], rows)
        + f"\n\nOurs builds an index at the first such question: {first} ns, once. It also caches "
        "the listing of all ACLs until one changes."
    )


def _many(results: Results) -> str:
    sides, many = results.many_actions, results.many
    rows = []
    for title, figure, actions in (
        ("each by its own call", "single", 1),
        (f"{many:,} by one call", "many", many),
    ):
        scaled = Sides(*({figure: _divided(found[figure], actions)} for found in sides))
        rows.append([title, *_compared(scaled, figure)])
    columns = []
    title_of = {
        "skewed": f"skewed, {LAPS} times round",
        "first": "skewed, once",
        "distinct": "distinct",
    }
    for rows_are, title in title_of.items():
        found = middle(results.bulk.ours, rows_are)
        columns.append([title, _ns(found), _ns(1e9 / found)])
    return (
        "## Many at once\n\nTopics and groups of W3, one action.\n\n"
        + _table(["actions", *_COMPARED], rows)
        + "\n\n`authorizer.engine.bulk` on columns, with an empty cache. *skewed* are the"
        f" 100,000 requests of W4, which every workload repeats, here {LAPS} times; "
        "*distinct* are READ and WRITE on every resource of its ACLs. A decision:\n\n"
        + _table(["rows", "ours", "a second"], columns)
    )


def _blocks(results: Results) -> str:
    rows = [
        [
            title,
            *(_ns(middle(results.blocks.ours, f"{name}{figure}")) for name in ("without", "with")),
        ]
        for title, figure in (("asked again and again", ""), ("each for the first time", "_first"))
    ]
    return (
        "## CIDR blocks\n\nDecided as Kafka 4.4, on the ACLs and requests of W3. *with*: a"
        " tenth of the ACLs have blocks as hosts, and every request matches the name of one of"
        " these. The time of a decision:\n\n" + _table(["requests", "without", "with"], rows)
    )


def _divided(rounds: list[tuple[float, float]], by: int) -> list[tuple[float, float]]:
    return [(wall / by, cpu / by) for wall, cpu in rounds]


def _changes(results: Results) -> str:
    rows = [
        ["load, one by one, an ACL", *_compared(results.load, "add")],
        ["load a snapshot, an ACL", *_compared(results.load, "snapshot")],
        ["remove one of 500,000 and add it again", *_compared(results.update, "update")],
    ]
    heap = results.heap
    memory = [
        [title, *(f"{middle(found, figure):.0f}" for found in heap)]
        for title, figure in (("ids, ACLs and their strings", "objects"), ("index", "index"))
    ]
    memory.append(["together", *(f"{bytes_an_acl(found):.0f}" for found in heap)])
    return (
        "## Loading, changing, memory\n\n"
        + _table(["workload", *_COMPARED], rows)
        + "\n\nBytes an ACL at 500,000 ACLs. Kafka: used heap after full collections. Ours:"
        " the memory that Python's allocator reports (`tracemalloc`) for a replayed image, and"
        " for the authorizer.\n\n" + _table(["memory", "Kafka", "ours"], memory)
    )


def _replay(results: Results) -> str:
    sides = results.replay
    rows = []
    for figure, title in (
        ("decode", "decode, checksums included"),
        ("apply", "and apply to an image"),
        ("ready", "and make the authorizer ready"),
    ):
        rows.append([title, *_compared(sides, figure), _ns(1e9 / middle(sides.ours, figure))])
    pause = middle(sides.ours, "longest_pause_ms")
    return (
        f"## Replay\n\nA log of {results.replayed:,} ACL records, from disk, a record.\n\n"
        + _table(["workload", *_COMPARED, "records per CPU second"], rows)
        + f"\n\nOur longest pause for garbage collection during the replay: {pause:.1f} ms."
    )


def _starts(start_ups: Seconds) -> str:
    rows = [[name, f"{wall:.3f}", f"{cpu:.3f}"] for name, (wall, cpu) in start_ups.items()]
    return "## Start-up\n\nSeconds from a process's start to its end.\n\n" + _table(
        ["process", "by the clock", "CPU"], rows
    )


def _libraries(libraries: dict[str, Figures]) -> str:
    ours = middle(libraries["kraft-metalog"], "decision")
    rows = [
        [name, _ns(middle(found, "decision")), _short(middle(found, "decision") / ours)]
        for name, found in libraries.items()
    ]
    return (
        "## General authorization libraries\n\n1,000 ACLs, the same questions and the same "
        "answers; policies are parsed once, before the measurement.\n\n"
        + _table(["library", "ns a decision", "ratio"], rows)
    )


_COMPARED = ("Kafka", "ours", "ratio", "clock")
_COMPARED_ONCE = ("workload", "Kafka", "ours", "ratio")


def _compared(sides: Sides, figure: str) -> list[str]:
    kafka, ours = (middle(found, figure) for found in sides)
    return [_ns(kafka), _ns(ours), *(_short(sides.ratio(figure, of)) for of in (CPU, WALL))]


def _ns(value: float) -> str:
    return f"{value:,.0f}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2f}"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _machine(began: float, busy: float, root: Path) -> str:
    commit = _output(["git", "-C", str(root), "describe", "--always", "--dirty"])
    java = _output(["java", "-version"]).splitlines()[0]
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(began))
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return (
        f"{when}, commit {commit}, {python}, {java}, Kafka {_kafka_version(root)}, "
        f"{_processor()} with {os.cpu_count()} cores, load {busy:.1f} at the start, "
        f"{(time.time() - began) / 60:.0f} minutes."
    )


def _output(command: list[str]) -> str:
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

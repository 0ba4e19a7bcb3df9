"""Formats the results of ``pipeline`` as the page bench/pipeline.md.

This module must not measure, and holds no number except those of the cases and the goals.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from statistics import median
from typing import NamedTuple

from changes_page import table

_LOAD = os.getloadavg()[0]
OURS, UDF, JOINS = "Arrow batches", "a Python UDF", "joins in SQL"
NOTHING = "Arrow batches, answered without a look"
SKEWED, DISTINCT, STRANGE = "skewed", "distinct", "strange"
SIZES = (10_000, 200_000)
YEAR, LONG = 2_000, 100_000
"""The numbers of ACL changes in the year of the requests."""
GROWTH = 10
GOALS = {SKEWED: 500_000, DISTINCT: 250_000}
WORKER_MIB = 1_536

_WHAT = f"""\
A request is a row with all columns of the table `requests`, at a time in a year in which {YEAR:,}
ACLs were added or removed. It is decided by the ACLs of its time, with the rule and the id of the
ACL, and written to a sink that discards it. Spark generates the rows; their cost is measured
separately in the same session and subtracted. A core-second is a second of CPU, of the JVM (its
collector and compiler too) and its Python worker together; Spark runs one task at a time.

*skewed*: of 100,000 questions, with frequencies by Zipf's law, as in the workload W4.
*distinct*: no two rows have principal, host, operation and resource in common. *strange*: each row
names a resource that no other row names and no ACL has."""
_WAY = """\
## Spark's part

*There and back*: the same columns go to the worker and come back; the worker does not read them.
This is Spark's cost of calling a worker; the rest is the cost of deciding."""
_BESIDE = """\
## Beside other ways

*A Python UDF*: the row's fields to `StandardAuthorizer.is_allowed` and a boolean back, by the ACLs
of today; without time, rule and ACL. *Joins in SQL*: the test's oracle, with the same results as
ours. It compares each request with each ACL, so its cost grows with both."""
_GROWTH = """\
## More rows

The same skewed requests. Each job has costs that do not depend on its rows: to plan it, and to
compile code. In a longer job they are a smaller part. *CPU s* is that of the whole job, including
the generation of the rows."""
_MEMORY = f"""\
## Memory of a worker

The peak memory (RSS) of a Python worker, including Spark's own part, at {LONG:,} changes too:
it grows with the ACLs that ever existed, not with the versions. Goal: {WORKER_MIB:,} MiB."""


class PipelineCase(NamedTuple):
    way: str
    traffic: str
    acls: int
    changes: int
    rows: int


class PipelineFigures(NamedTuple):
    """The figures of one case: CPU and elapsed seconds for rounds that only generate ``rows``, and
    for rounds that also decide them; and the peak memory of a Python worker."""

    rows: int
    making: Sequence[tuple[float, float]]
    deciding: Sequence[tuple[float, float]]
    worker_mib: float

    @property
    def per_core(self) -> float:
        """Requests decided per CPU second."""
        return self.rows / (_cpu(self.deciding) - _cpu(self.making))


def page(found: Mapping[PipelineCase, PipelineFigures], command: str) -> str:
    parts = [
        "# Deciding by the million",
        f"Written by `{command}` on {time.strftime('%Y-%m-%d')}; no number here is typed by hand. "
        f"{os.cpu_count()} CPUs with a load of {_LOAD:.1f} before it, {platform.system()} "
        f"{platform.machine()}, Spark {version('pyspark')}, Python {platform.python_version()}; "
        "medians of the rounds.",
        _WHAT,
        table(
            ["ACLs", "requests", "decided per core-second", "goal", "µs each", *_CLOCK],
            list(_of(found)),
        ),
        _WAY,
        table(["requests", "µs each", "there and back", "deciding"], list(_on_the_way(found))),
        _BESIDE,
        table(["ACLs", "requests", OURS, UDF, "ratio", JOINS, "ratio"], list(_beside(found))),
        _GROWTH,
        table(
            ["ACLs", "rows", "CPU s", "µs a row", "decided per core-second", "goal"],
            list(_growing(found)),
        ),
        _MEMORY,
        table(["ACLs", "changes", "requests", "MiB"], list(_memory(found))),
    ]
    return "\n\n".join(parts) + "\n"


_CLOCK = ("whole job, µs of CPU each", "rows a second by the clock")


def _of(found: Mapping[PipelineCase, PipelineFigures]) -> Iterator[list[str]]:
    for case, each in found.items():
        if case.way == OURS and case.changes == YEAR and case.rows == _rows(found):
            goal = GOALS.get(case.traffic)
            yield [
                f"{case.acls:,}",
                case.traffic,
                f"{each.per_core:,.0f}",
                _goal(each.per_core, goal) if goal else "",
                f"{1e6 / each.per_core:.2f}",
                f"{_cpu(each.deciding) / each.rows * 1e6:.2f}",
                f"{each.rows / median(clock for _, clock in each.deciding):,.0f}",
            ]


def _on_the_way(found: Mapping[PipelineCase, PipelineFigures]) -> Iterator[list[str]]:
    for case, each in found.items():
        if case.way == NOTHING:
            ours = found[case._replace(way=OURS)]
            whole, way = (1e6 / measured.per_core for measured in (ours, each))
            yield [case.traffic, f"{whole:.2f}", f"{way:.2f}", f"{whole - way:.2f}"]


def _goal(reached: float, goal: float) -> str:
    return f"{goal:,}" if reached >= goal else f"{goal:,}: **not met**"


def _beside(found: Mapping[PipelineCase, PipelineFigures]) -> Iterator[list[str]]:
    for case, each in found.items():
        ours, joins = (_found(found, way, case.traffic, case.acls) for way in (OURS, JOINS))
        if case.way == UDF and ours is not None:
            row = [f"{case.acls:,}", case.traffic, f"{ours.per_core:,.0f}"]
            for other in (each, joins):
                cells = ["", ""]
                if other is not None:
                    ratio = ours.per_core / other.per_core
                    cells = [f"{other.per_core:,.0f}", f"{ratio:,.0f}"]
                row += cells
            yield row


def _growing(found: Mapping[PipelineCase, PipelineFigures]) -> Iterator[list[str]]:
    for acls in SIZES:
        for case, each in found.items():
            if case[:4] == (OURS, SKEWED, acls, YEAR):
                cpu = _cpu(each.deciding)
                yield [
                    f"{acls:,}",
                    f"{each.rows:,}",
                    f"{cpu:,.1f}",
                    f"{cpu / each.rows * 1e6:.2f}",
                    f"{each.per_core:,.0f}",
                    _goal(each.per_core, GOALS[SKEWED]),
                ]


def _memory(found: Mapping[PipelineCase, PipelineFigures]) -> Iterator[list[str]]:
    for case, each in found.items():
        if case.way == OURS:
            sizes = f"{case.acls:,}", f"{case.changes:,}"
            yield [*sizes, f"{case.traffic}, {each.rows:,}", f"{each.worker_mib:,.0f}"]


def _found(
    found: Mapping[PipelineCase, PipelineFigures], way: str, traffic: str, acls: int
) -> PipelineFigures | None:
    for case, each in found.items():
        if case[:4] == (way, traffic, acls, YEAR):
            return each
    return None


def _rows(found: Mapping[PipelineCase, PipelineFigures]) -> int:
    return min(case.rows for case in found if case.way == OURS)


def _cpu(rounds: Sequence[tuple[float, float]]) -> float:
    return median(cpu for cpu, _ in rounds)

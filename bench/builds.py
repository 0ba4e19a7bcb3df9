"""Measures the cost per line of whole builds, and writes bench/builds.md.

Each build runs in a fresh Spark of one task (``local[1]``), by the code behind ``metalog pipeline
build``. The figures are the CPU time of the JVM, its Python worker and the driver together, with
the JVM's start and compiler. The cost of one line is the difference to a build with half as many
lines. This program writes every number in the page.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from shutil import rmtree
from typing import TYPE_CHECKING, Any, NamedTuple

import audit_archive
import workloads
from audit_archive import HARD, REAL, STRANGERS, AuditTraffic
from changes_page import table
from pipeline import ROOT, family_cpu

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = workloads.FOLDER / "builds"
TRAFFICS: Mapping[str, AuditTraffic] = {each.name: each for each in (REAL, HARD, STRANGERS)}
SMALL = "small files"
LINES_EACH = 40
GOAL = 100_000
_FAR = 10_000_000_000
_WHAT = f"""\
*real*: {audit_archive.PRINCIPALS} principals ask for {audit_archive.RESOURCES:,} topics, skewed, a
million lines a day; nineteen lines of twenty name a rule's ACL, so that a line has 430 bytes.
*hard*: the same, but each line names a different topic. *strangers*: nineteen lines of twenty are
denials, each of a different principal. Each of these is one file. *small files*:
{LINES_EACH} lines in each, a file an hour of each of thirty brokers. A build reads the metadata log
(9,000 ACLs) and the audit files, decides each request as of its time, and fills every table."""
_DRIVER = """\
## The driver

The driver's memory in MiB: the peak of its Python, and its JVM's heap after a collection, after the
build and after *unused* and *denied most*. Both grow with days, brokers and ACLs, but not with
audit files, principals, names or lines. While Spark lists the audit files, the heap also has
0.8 KiB for each. (`least-privilege` also holds the ACLs that it proposes; a cluster must hold these
as well.)"""
_STEPS = """\
## Where it goes

Seconds of CPU by the step that the build shows. In the first half minute the JVM compiles most of
its code."""
_FORMULA = """\
## Many more

No build was longer than those above. By the growth above"""


class BuildCase(NamedTuple):
    """A number of lines of a traffic, or small files."""

    traffic: str
    size: int

    @property
    def lines(self) -> int:
        return self.size * LINES_EACH if self.traffic == SMALL else self.size


class BuildFigures(NamedTuple):
    """The figures of one build: CPU seconds ``by_step``, and the elapsed seconds in ``clock``.
    Sizes of the driver are in MiB, after the build and after *unused* and *denied most*: the peak
    of its Python, and the content of its JVM's heap. ``load`` is that of the machine at the build's
    end."""

    by_step: Sequence[tuple[str, float]]
    clock: float
    requests: int
    python: Sequence[float] = ()
    heap: Sequence[float] = ()
    load: float | None = None

    @property
    def cpu(self) -> float:
        return sum(seconds for _, seconds in self.by_step)


def archive(case: BuildCase) -> Path:
    """The folder of a case's audit files, made once."""
    if not (FOLDER / "log").exists():
        audit_archive.write_log(FOLDER / "log")
    place = FOLDER / f"{case.traffic.replace(' ', '-')}-{case.size}"
    if not place.exists():
        made = place.with_suffix(".part")
        rmtree(made, ignore_errors=True)
        if case.traffic == SMALL:
            audit_archive.write_small_files(made, case.size, LINES_EACH)
        else:
            path = made / "broker-1" / "kafka-authorizer.log"
            audit_archive.write_file(path, TRAFFICS[case.traffic], case.size)
        made.rename(place)
    return place


def measure(traffic: str, count: str) -> None:
    """Store the measurements as JSON."""
    from authorizer.audit.layouts import Zone
    from metalog_spark.build import BuildInputs, build
    from metalog_spark.findings.denied import denied
    from metalog_spark.findings.unused import classified_acls
    from metalog_spark.findings.windows.window import window_of
    from metalog_spark.history.archive import Logs
    from metalog_spark.history.configuration import Configuration
    from metalog_spark.session import open_session
    from metalog_spark.store.table_store import Tables
    from metalog_spark.store.tables import DECISIONS

    out = FOLDER / f"tables-{os.getpid()}"
    rmtree(out, ignore_errors=True)
    steps: list[tuple[str, float]] = []
    clock, begun = time.perf_counter(), [("starting Spark", family_cpu())]

    def at(step: str) -> None:
        before, since = begun[-1]
        begun.append((step, family_cpu()))
        steps.append((before, begun[-1][1] - since))

    session = open_session(master="local[1]", log=workloads.FOLDER / "spark.log")
    tables = Tables.make(session, out)
    log = Logs(str(FOLDER / "log"), environ=os.environ)
    audit = str(archive(BuildCase(traffic, int(count))))
    build(tables, BuildInputs(log, Configuration(), Zone("UTC"), [audit]), on_step=at)
    at("")
    seconds = time.perf_counter() - clock
    sizes, load = [_sizes(session)], os.getloadavg()[1]
    window = window_of(tables)
    classified_acls(tables, window)
    denied(tables, window).collect()
    sizes.append(_sizes(session))
    python, heap = ([size[side] for size in sizes] for side in (0, 1))
    figures = BuildFigures(steps, seconds, tables.read(DECISIONS).count(), python, heap, load)
    session.stop()
    rmtree(out)
    _kept(BuildCase(traffic, int(count))).write_text(json.dumps(figures))


def _sizes(session: SparkSession) -> tuple[float, float]:
    """The peak of this Python, and the JVM's heap after a collection, in MiB."""
    gateway: Any = session.sparkContext._gateway
    java = gateway.jvm.java.lang
    java.System.gc()
    heap = java.Runtime.getRuntime().totalMemory() - java.Runtime.getRuntime().freeMemory()
    return getrusage(RUSAGE_SELF).ru_maxrss / 1024, heap / (1 << 20)


def _kept(case: BuildCase) -> Path:
    """The stored measurements, so that an interrupted run continues."""
    return FOLDER / f"{case.traffic.replace(' ', '-')}-{case.size}.json"


def measured(case: BuildCase) -> BuildFigures:
    if _kept(case).exists():
        return BuildFigures(*json.loads(_kept(case).read_text()))
    archive(case)
    print(f"{case.traffic}, {case.size:,}", file=sys.stderr)
    done = subprocess.run(
        [sys.executable, __file__, "--job", case.traffic, str(case.size)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "bench", ROOT)))},
    )
    if done.returncode:
        raise SystemExit(f"{case} failed: {done.stderr}")
    figures = BuildFigures(*json.loads(_kept(case).read_text()))
    if figures.requests != case.lines:
        raise SystemExit(f"{case}: {figures.requests} rows of {case.lines} lines")
    return figures


def _case(kept: Path) -> BuildCase:
    name, _, size = kept.stem.rpartition("-")
    return BuildCase(name.replace("-", " "), int(size))


def page(found: Mapping[BuildCase, BuildFigures], command: str) -> str:
    parts = [
        "# Whole builds",
        f"Written by `{command}` on {time.strftime('%Y-%m-%d')}; no number here is typed by hand. "
        f"{os.cpu_count()} CPUs, {platform.system()} "
        f"{platform.machine()}, Spark {version('pyspark')}, Python {platform.python_version()}.",
        _WHAT,
        table(
            [
                "archive",
                "lines",
                "CPU s",
                "clock s",
                "load",
                "µs per further line",
                "further lines per core-second",
            ],
            list(_rows(found)),
        ),
        f"Goal: {GOAL:,} further lines per core-second, decisions included.",
        _DRIVER,
        table(
            ["archive", "Python, build", "Python, findings", "heap, build", "heap, findings"],
            [
                [f"{_name(case)}, {case.lines:,} lines", *(f"{size:.0f}" for size in sizes)]
                for case, figures in found.items()
                for sizes in [(*figures.python, *figures.heap)]
                if sizes
            ],
        ),
        _STEPS,
        table(["step", *(f"{case.traffic}, {case.size:,}" for case in found)], list(_steps(found))),
        f"{_FORMULA}: {'; '.join(_formulas(found))}.",
    ]
    return "\n\n".join(parts) + "\n"


def _rows(found: Mapping[BuildCase, BuildFigures]) -> Iterator[list[str]]:
    for case, figures in found.items():
        more = _more(found, case)
        of_line = ["", ""] if more is None else [f"{more * 1e6:.1f}", f"{1 / more:,.0f}"]
        yield [
            _name(case),
            f"{case.lines:,}",
            f"{figures.cpu:.0f}",
            f"{figures.clock:.0f}",
            "" if figures.load is None else f"{figures.load:.0f}",
            *of_line,
        ]


def _name(case: BuildCase) -> str:
    return f"{case.size:,} {SMALL}" if case.traffic == SMALL else case.traffic


def _more(found: Mapping[BuildCase, BuildFigures], case: BuildCase) -> float | None:
    """CPU seconds per line beyond those of the shortest build of its kind."""
    least = min((case_ for case_ in found if case_.traffic == case.traffic), key=lambda c: c.lines)
    if least == case:
        return None
    return (found[case].cpu - found[least].cpu) / (case.lines - least.lines)


def _steps(found: Mapping[BuildCase, BuildFigures]) -> Iterator[list[str]]:
    names = dict.fromkeys(_step(step) for figures in found.values() for step, _ in figures.by_step)
    for name in names:
        cells = []
        for each in found.values():
            seconds = sum(cpu for step, cpu in each.by_step if _step(step) == name)
            cells.append(f"{seconds:.1f}")
        yield [name, *cells]


def _step(step: str) -> str:
    """The step's name without the number of files."""
    return re.sub(r"[0-9,]+ audit files?", "audit files", step)


def _formulas(found: Mapping[BuildCase, BuildFigures]) -> Iterator[str]:
    for kind in dict.fromkeys(case.traffic for case in found):
        cases = sorted(case for case in found if case.traffic == kind)
        more = _more(found, cases[-1])
        if more is None:
            continue
        once = found[cases[-1]].cpu - more * cases[-1].lines
        hours = (once + more * _FAR) / 3_600
        yield (
            f"*{kind}*: {once:.0f} s + {more * 1e6:.1f} µs a line, which for {_FAR:,} lines is"
            f" {hours:,.0f} hours of one core"
        )


def cases(
    sizes: Sequence[int], files: Sequence[int], traffics: Sequence[str] = tuple(TRAFFICS)
) -> Iterator[BuildCase]:
    for name in traffics:
        yield from (BuildCase(name, size) for size in sizes)
    yield from (BuildCase(SMALL, count) for count in files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="rough, in a few minutes")
    parser.add_argument("--lines", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--files", type=int, nargs="*", default=[26_000, 260_000])
    parser.add_argument("--traffics", nargs="+", default=list(TRAFFICS), choices=TRAFFICS)
    parser.add_argument(
        "--kept", action="store_true", help="only write the page, from stored measurements"
    )
    parser.add_argument("--again", action="store_true", help="measure stored cases again")
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        measure(*arguments.job)
        return
    if arguments.quick:
        arguments.lines, arguments.files = [200_000, 400_000], [500, 1_000]
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = [*cases(arguments.lines, arguments.files, arguments.traffics)]
    if arguments.kept:
        wanted = sorted(map(_case, FOLDER.glob("*.json")))
    for case in wanted if arguments.again else ():
        _kept(case).unlink(missing_ok=True)
    found = {case: measured(case) for case in wanted}
    command = " ".join(["bench/builds.py", *sys.argv[1:]])
    target = workloads.FOLDER if arguments.quick else ROOT / "bench"
    (target / "builds.md").write_text(page(found, command))
    print(page(found, command))


if __name__ == "__main__":
    main()

"""Measures how fast requests are decided as of their own time, and writes bench/pipeline.md.

Each method runs in a fresh Spark of one task (``local[1]``), on rows that Spark generates from
numbers, into a sink that discards them. The figures are the CPU time of the JVM and of its Python
worker together; generating the rows is measured separately and subtracted. This program writes
every number in the page.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa  # Spark reads the hints of what a worker runs
import workloads
from pipeline_page import (
    DISTINCT,
    GROWTH,
    JOINS,
    LONG,
    NOTHING,
    OURS,
    SIZES,
    SKEWED,
    STRANGE,
    UDF,
    YEAR,
    PipelineCase,
    PipelineFigures,
    page,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from authorizer import StandardAuthorizer
    from authorizer.history.timeline import AclLifetime
    from metalog.acl import Acl

ROOT = Path(__file__).parents[1]
_TICKS = os.sysconf("SC_CLK_TCK")
_START_MS, _YEAR_MS = 1_735_689_600_000, 365 * 86_400_000
_APPLICATIONS = 1_000
_OFTEN_ASKED = 100_000
_SCATTER = 2_654_435_761
_AT_ONCE = 2_500_000
"""The number of rows of a task."""


class RoundSizes(NamedTuple):
    """The number of rounds, and of rows per round."""

    rounds: int
    rows: int
    udf_rows: int
    join_rows: int

    def rounds_of(self, case: PipelineCase) -> int:
        """The number of rounds for a case; one with ten times as many rows needs only one."""
        return 1 if case.rows > self.rows else self.rounds


FULL = RoundSizes(3, 5_000_000, 500_000, 2_000)
QUICK = RoundSizes(1, 1_000_000, 100_000, 200)


def acl(number: int) -> Acl:
    """The ACL with this number: there are four for each resource, for two applications. One
    resource in ten is a prefix of ten."""
    from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType

    resource, place = divmod(number, 4)
    is_prefix = resource % 10 == 0
    name = f"team-{resource % 500:03d}.stream-{resource:06d}"
    return Acl(
        ResourceType.GROUP if resource % 8 == 3 else ResourceType.TOPIC,
        name[:-1] if is_prefix else name,
        PatternType.PREFIXED if is_prefix else PatternType.LITERAL,
        f"User:app-{(resource + place // 2 * 7) % _APPLICATIONS}",
        "10.0.0.1" if number % 50 == 9 else "*",
        Operation.WRITE if place % 2 else Operation.READ,
        PermissionType.DENY if number % 100 == 17 else PermissionType.ALLOW,
    )


def a_year(acls: int, changes: int) -> Iterator[AclLifetime]:
    """``acls`` ACLs and ``changes`` changes, in which one ACL after the other is removed and added
    again."""
    from authorizer.history.timeline import TimelineChange, lifetimes
    from metalog.ids import Uuid

    def uuid(number: int) -> Uuid:
        return Uuid(number.to_bytes(16, "big"))

    def change(number: int) -> TimelineChange:
        which = number // 2 * 7919 % acls
        after = acl(which) if number % 2 else None
        at_ms = _START_MS + (number + 1) * _YEAR_MS // (changes + 1)
        return TimelineChange(number, uuid(which), after, at_ms)

    return lifetimes(
        {uuid(number): acl(number) for number in range(acls)}, map(change, range(changes))
    )


def tables(session: SparkSession, acls: int, changes: int) -> tuple[DataFrame, DataFrame]:
    """ACL_CHANGELOG and HISTORY."""
    from metalog_spark.history.archive_history import KNOWN, ChangelogRow, HistoryRange
    from metalog_spark.history.changelog import changelog_rows, history_rows

    rows = (
        ChangelogRow(lifetime.id, lifetime.acl, lifetime.begin, True, lifetime.end, True, "bench")
        for lifetime in a_year(acls, changes)
    )
    seen = HistoryRange(KNOWN, 0, changes, _START_MS, _START_MS + _YEAR_MS)
    return changelog_rows(session, rows), history_rows(session, [seen], "bench")


def requests(session: SparkSession, traffic: str, acls: int, rows: int) -> DataFrame:
    """All columns of REQUESTS, in order of time."""
    resources = acls // 4
    applications = "pmod(q, 1000)"
    if traffic == SKEWED:
        question = f"(CAST(pow({_OFTEN_ASKED}, rand(7)) AS BIGINT) - 1) * 7919"
        applications = "element_at(array(0, 7, 0, 7, 0, 7, 0, 3), CAST(pmod(q, 8) + 1 AS INT))"
    else:
        question = f"pmod(id * {_SCATTER}, {rows})"
    own = "concat('-', id)" if traffic == STRANGE else "''"
    resource = f"pmod(q DIV 4000, {resources})"
    return (
        session.range(0, rows, 1, max(1, rows // _AT_ONCE))
        .selectExpr("id", f"{question} AS q")
        .selectExpr("id", "q", f"{resource} AS r", f"{applications} AS a")
        .selectExpr(
            f"timestamp_millis({_START_MS} + id * {_YEAR_MS} DIV {rows}) AS time",
            "CAST(id % 6 AS STRING) AS broker",
            f"concat('User:app-', pmod(r + a, {_APPLICATIONS})) AS principal",
            f"concat('10.0.0.', q DIV {4_000 * resources}) AS host",
            "element_at(array('READ', 'WRITE', 'DESCRIBE', 'ALTER'),"
            " CAST(pmod(q DIV 1000, 4) + 1 AS INT)) AS operation",
            "CASE WHEN r % 8 = 3 THEN 'GROUP' ELSE 'TOPIC' END AS resource_type",
            "concat('team-', lpad(r % 500, 3, '0'), '.stream-', lpad(r, 6, '0'),"
            f" {own}) AS resource_name",
            "'LITERAL' AS pattern_type",
            "'Fetch' AS request_name",
            "1 AS resource_reference_count",
            "'ALLOWED' AS result",
            "CAST(NULL AS STRING) AS rule",
            "false AS ambiguous",
            "'kafka-authorizer.log' AS file",
            "id AS line",
            f"date_add(DATE'2025-01-01', CAST(id * 365 DIV {rows} AS INT)) AS day",
        )
    )


def ours(session: SparkSession, acls: int, changes: int) -> Callable[[DataFrame], DataFrame]:
    from metalog_spark.decide.decide_job import decided
    from metalog_spark.history.configuration import Configuration
    from metalog_spark.history.state import packed

    state = packed(*tables(session, acls, changes))
    return lambda rows: decided(rows, state, Configuration())


def there_and_back(session: SparkSession, acls: int, _: int) -> Callable[[DataFrame], DataFrame]:
    """The cost of Spark itself: the same columns go to a worker, which returns an answer without
    deciding."""
    import numpy as np

    from metalog_spark.decide.decide_job import answered
    from metalog_spark.decide.decide_worker import DECIDED

    some_id = "AAAAAAAAAAAAAAAAAAAAAA"

    def answer(questions: pa.Array, times: pa.Array) -> pa.Array:
        zeros = np.zeros(len(questions), np.int64)
        ids = pa.array([some_id]).take(pa.array(zeros))
        columns = pa.array(zeros), pa.array(zeros.astype(np.int32)), ids
        return pa.StructArray.from_arrays(columns, DECIDED)

    return lambda rows: answered(rows, answer)


def by_joins(session: SparkSession, acls: int, changes: int) -> Callable[[DataFrame], DataFrame]:
    from metalog_spark.history.configuration import Configuration
    from tests.support.spark.sql_oracle import decided_by_joins

    log, seen = (table.cache() for table in tables(session, acls, changes))
    configuration = Configuration().rows(session)
    return lambda rows: decided_by_joins(rows, log, seen, configuration)


def by_udf(session: SparkSession, acls: int, _: int) -> Callable[[DataFrame], DataFrame]:
    """Measure the obvious solution: a row at a time, by today's ACLs, without the rule."""
    from pipeline import is_allowed  # a worker imports it by its module's name
    from pyspark.sql.functions import udf

    columns = ("principal", "host", "operation", "resource_type", "resource_name")
    ask = udf(lambda *row: is_allowed(acls, *row), "boolean")
    return lambda rows: rows.withColumn("allowed", ask(*columns))


def is_allowed(acls: int, principal: str, host: str, operation: str, kind: str, name: str) -> bool:
    from authorizer import Action, Operation, RequestContext
    from authorizer.api import ResourcePattern
    from metalog.acl import ResourceType

    action = Action(
        Operation[operation], ResourcePattern(ResourceType[kind], name), 1, False, False
    )
    return loaded(acls).is_allowed(RequestContext(principal, host), action)


@lru_cache(maxsize=1)
def loaded(acls: int) -> StandardAuthorizer:
    from authorizer import StandardAuthorizer

    return StandardAuthorizer.from_acls(map(acl, range(acls)))


WAYS = {OURS: ours, NOTHING: there_and_back, JOINS: by_joins, UDF: by_udf}


def measure(way: str, traffic: str, acls: str, changes: str, rows: str, rounds: str) -> None:
    """Print the measurements as JSON. Generating the rows runs first, so that Spark is warm."""
    from metalog_spark.session import open_session

    session = open_session(master="local[1]", log=workloads.FOLDER / "spark.log")
    decide = WAYS[way](session, int(acls), int(changes))
    made = requests(session, traffic, int(acls), int(rows))
    warm = requests(session, traffic, int(acls), max(1, int(rows) // 5))
    for job in (warm, decide(warm)):
        run(job)
    making, deciding = [], []
    for _ in range(int(rounds)):
        making.append(run(made))
        deciding.append(run(decide(made)))
    print(json.dumps(PipelineFigures(int(rows), making, deciding, worker_mib())))
    session.stop()


def run(job: DataFrame) -> tuple[float, float]:
    """The CPU seconds of the JVM and its workers, and the elapsed seconds."""
    cpu, clock = family_cpu(), time.perf_counter()
    job.write.format("noop").mode("overwrite").save()
    return family_cpu() - cpu, time.perf_counter() - clock


def family() -> list[Path]:
    """This process and its descendants."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(path.name))
    processes = [os.getpid()]
    for process in processes:
        processes += parents.get(process, [])
    return [Path("/proc", str(process)) for process in processes]


_WORKERS: dict[Path, int] = {}
"""The last CPU ticks of each Python worker. The worker's parent does not wait for it, so the kernel
adds the ticks to no other process."""


def family_cpu() -> float:
    """CPU seconds of these processes and of their ended children."""
    total, processes = 0, family()
    for path in processes:
        fields = (path / "stat").read_text().rpartition(")")[2].split()
        ticks = sum(map(int, fields[11:15]))
        total += ticks
        if "pyspark.daemon" in (path / "cmdline").read_text():
            _WORKERS[path] = ticks
    total += sum(ticks for path, ticks in _WORKERS.items() if path not in processes)
    return total / _TICKS


def worker_mib() -> float:
    """The peak memory of a Python worker."""
    peaks = [0]
    for path in family():
        if "pyspark.daemon" in (path / "cmdline").read_text():
            status = (path / "status").read_text().splitlines()
            peaks += [int(line.split()[1]) for line in status if line.startswith("VmHWM")]
    return max(peaks) / 1024


def measured(case: PipelineCase, rounds: int) -> PipelineFigures:
    job = [case.way, case.traffic, case.acls, case.changes, case.rows, rounds]
    paths = os.pathsep.join(map(str, (ROOT / "bench", ROOT)))
    print(f"{case.way}, {case.traffic}, {case.acls:,} ACLs, {case.rows:,} rows", file=sys.stderr)
    done = subprocess.run(
        [sys.executable, __file__, "--job", *map(str, job)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    if done.returncode:
        raise SystemExit(f"{job} failed: {done.stderr}")
    return PipelineFigures(*json.loads(done.stdout.splitlines()[-1]))


def cases(sizes: RoundSizes) -> Iterator[PipelineCase]:
    for acls in SIZES:
        for traffic in (SKEWED, DISTINCT, STRANGE):
            yield PipelineCase(OURS, traffic, acls, YEAR, sizes.rows)
            if acls == SIZES[0]:
                yield PipelineCase(NOTHING, traffic, acls, YEAR, sizes.rows)
        for traffic in (SKEWED, DISTINCT):
            yield PipelineCase(UDF, traffic, acls, YEAR, sizes.udf_rows)
        yield PipelineCase(JOINS, SKEWED, acls, YEAR, sizes.join_rows * SIZES[0] // acls)
    for acls in SIZES:
        yield PipelineCase(OURS, SKEWED, acls, YEAR, sizes.rows * GROWTH)
    yield PipelineCase(OURS, DISTINCT, SIZES[-1], LONG, sizes.rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="rough, in a few minutes")
    parser.add_argument("--job", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        measure(*arguments.job)
        return
    sizes = QUICK if arguments.quick else FULL
    workloads.FOLDER.mkdir(parents=True, exist_ok=True)
    results = {case: measured(case, sizes.rounds_of(case)) for case in cases(sizes)}
    command = "make bench-pipeline" + (" QUICK=1" if arguments.quick else "")
    text = page(results, command)
    target = workloads.FOLDER if arguments.quick else ROOT / "bench"
    (target / "pipeline.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()

"""Measures the reading verbs on a big cluster's log, Kafka's tools beside them: bench/verbs.md.

Each job is a fresh process that reads the log of ``big_log``, and the sides take turns. The figures
are medians of CPU time. ``--quick`` runs each job once, and writes to build/bench.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from big_log import SEGMENT, BigLog, make_big_log
from changes_page import heading, table
from run import QUICK, kafka_command
from workloads import FOLDER

from tests.support.kafka.tools import JARS, KAFKA_VERSION

ROOT: Final = Path(__file__).parents[1]
QUESTION: Final = ("User:app-1", "READ", "topic:team-1.topic-1")
MIDDLE: Final = "1000000"
ROUNDS: Final = 3


class Spent(NamedTuple):
    """The cost of one process: CPU seconds, elapsed seconds, and peak memory in MiB."""

    cpu_s: float
    wall_s: float
    memory_mib: float


class VerbJob(NamedTuple):
    """A verb with its arguments after SOURCE, and the goal: the largest CPU time."""

    name: str
    arguments: tuple[str, ...]
    goal_s: float | None = None


JOBS: Final = (
    VerbJob("acls", (), 2),
    VerbJob("can", QUESTION, 2),
    VerbJob("who-can", QUESTION[1:], 2),
    VerbJob("lint", (), 2),
    VerbJob("explain", QUESTION, 3),
    VerbJob("history", (), 3),
    VerbJob("history --from the last 7 % of offsets", ("--from", MIDDLE), 3),
    VerbJob("acls --at an early time", ("--at", "@1700003000000"), 2),
    VerbJob("status", (), 6),
)
IMAGE: Final = "whole image"
DUMP: Final = "every record printed"


def spent(command: list[str]) -> Spent:
    """Run ``command`` to its end; exit code 1 (findings, or a denial) is a valid answer."""
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}\n{errors.strip()}")
    wall_s = time.perf_counter() - began
    return Spent(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss / 1024)


def commands(log: Path) -> dict[str, list[str]]:
    """The command of each row; those of Kafka begin with ``kafka``."""
    metalog = str(Path(sys.executable).with_name("metalog"))
    once = QUICK._replace(warmup_s=0, rounds=1)
    segment = f"{log.name}/{SEGMENT}"
    ours = {job.name: [metalog, job.name.split()[0], str(log), *job.arguments] for job in JOBS}
    kafka_dump = [
        "java", "-XX:+UseSerialGC", "-cp", f"{JARS}/*", "org.apache.kafka.tools.DumpLogSegments",
        "--cluster-metadata-decoder", "--files", str(log / SEGMENT),
    ]  # fmt: skip
    return ours | {
        IMAGE: [sys.executable, str(Path(__file__)), "--image", str(log)],
        f"kafka: {IMAGE}": kafka_command(once, "image", segment),
        DUMP: [metalog, "dump", str(log), "--json"],
        f"kafka: {DUMP}": kafka_dump,
    }


def measure(log: Path, rounds: int) -> dict[str, list[Spent]]:
    results: dict[str, list[Spent]] = {}
    for number in range(rounds):
        for name, command in commands(log).items():
            results.setdefault(name, []).append(spent(command))
            print(f"round {number + 1}: {name}: {results[name][-1]}", file=sys.stderr, flush=True)
    return results


def page(results: dict[str, list[Spent]], command: str) -> str:
    middle = {
        name: Spent(*(median(column) for column in zip(*runs, strict=True)))
        for name, runs in results.items()
    }
    rows = []
    for job in JOBS:
        cpu_s, wall_s, memory_mib = middle[job.name]
        goal = "" if job.goal_s is None else f"{job.goal_s:g}"
        met = "" if job.goal_s is None else "met" if cpu_s <= job.goal_s else "**not met**"
        rows.append(
            [f"`{job.name}`", f"{cpu_s:.2f}", goal, met, f"{wall_s:.2f}", f"{memory_mib:.0f}"]
        )
    beside = []
    for name in (IMAGE, DUMP):
        kafka, ours = middle[f"kafka: {name}"], middle[name]
        ratio = kafka.cpu_s / ours.cpu_s
        met = "met" if ratio >= 1 else "**not met**"
        beside.append([name, f"{kafka.cpu_s:.2f}", f"{ours.cpu_s:.2f}", f"{ratio:.2f}", met])
    parts = [
        heading("The reading verbs on a big cluster's log", command, KAFKA_VERSION),
        "The log has 3,000 topics of 20 partitions, 10,000 ACLs, then 1,000,000 partition changes "
        "in batches of 1 to 60, with 500 ACL changes and NO_OPs among them: 55 MiB in one segment. "
        "Each figure is of a whole process, its start included.",
        "## Verbs\n\nSeconds and MiB.\n\n"
        + table(["verb", "CPU", "goal", "", "clock", "memory"], rows),
        "## Beside Kafka\n\nSeconds of CPU of a process; a ratio above 1 means that ours is ahead. "
        f"*{IMAGE}*: Kafka's reader of metadata batches, `MetadataDelta` and `MetadataImage`, "
        "which its `MetadataLoader` drives, in a cold JVM; `replay_source` on our side. "
        f"*{DUMP}*: `kafka-dump-log` and `metalog dump --json`, into nothing.\n\n"
        + table(["job", "Kafka", "ours", "ratio", ""], beside),
        "[Reading a big log](../docs/performance/reading-a-big-log.md) says where the time goes.",
    ]
    return "\n\n".join(parts) + "\n"


def make_image(log: str) -> None:
    from metalog_sources.replay import replay_source
    from metalog_sources.source import open_source

    topics = replay_source(open_source(log, environ={})).image.topics
    print(len(topics.by_id))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="each job once")
    parser.add_argument("--image", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.image:
        make_image(arguments.image)
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = measure(make_big_log(BigLog()), 1 if arguments.quick else ROUNDS)
    text = page(found, "make bench-verbs" + (" QUICK=1" if arguments.quick else ""))
    target = FOLDER if arguments.quick else ROOT / "bench"
    (target / "verbs.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()

"""Measures Kafka's authorizer and ours side by side and writes bench/results.md.

Each workload runs in a fresh process on each side, in turn, in several passes. The figures are
medians of CPU time over all rounds of all passes, since machines are shared; the ratio of elapsed
times is beside them. This program writes every number in the page. ``--quick`` takes under five
minutes on a quiet machine. It leaves out workloads that are similar to others, and writes its
rough results to build/bench.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import report
import workloads
from measured import FIRST_DECISION, Figures, Results, Seconds, Sides

ROOT = Path(__file__).parents[1]
FOLDER = workloads.FOLDER
PEER = FOLDER / "peer"
LIBRARIES = FOLDER / "libraries"
DEMO = ROOT / "metalog_sources" / "demo" / "log-dir"


class Schedule(NamedTuple):
    """CPU seconds per measurement; ``whole_runs`` is the number of runs of jobs that are timed as a
    whole.

    Only Kafka's side needs a long warm-up, so that its code is compiled.
    """

    passes: int
    warmup_s: float
    our_warmup_s: float
    round_s: float
    rounds: int
    whole_runs: int
    replayed: int
    starts: int
    left_out: tuple[str, ...] = ()


FULL = Schedule(2, 5.0, 1.0, 0.5, 5, 2, 1_000_000, 5)
QUICK = Schedule(
    1, 1.5, 0.1, 0.2, 3, 1, 200_000, 1, left_out=("W2-plain-hot", "W4-plain-zipf", "W7b-chain")
)
START_RECORDS = 500_000
MANY = 5_000

DECISIONS = {
    "W1-kafka-bench": ("bench", "hot"),
    "W2-plain-hot": ("plain", "hot"),
    "W3-plain-uniform": ("plain", "uniform"),
    "W4-plain-zipf": ("plain", "zipf"),
    "W5-plain-miss": ("plain", "miss"),
    "W6-long-names": ("long", "long"),
    "W7-nested": ("nested", "nested"),
    "W7b-chain": ("chain", "chain"),
    "W9-one-resource": ("one", "one"),
}

COLD_JOBS = {
    "W10-fleet": ("decide", "fleet", "fleet"),
    "W11-churn": ("churn", "churn", "churn"),
    "W12-page": ("page", "page", "page"),
    "W13-sensors": ("decide", "sensors", "sensors"),
    "W14-domains": ("churn", "domains", "domains"),
    "W15-tables": ("page", "tables", "tables"),
}


def kafka_command(schedule: Schedule, *job: str) -> list[str]:
    jars = f"{PEER / 'peer.jar'}:{PEER / 'jars'}/*"
    java = ["java", "-XX:+UseSerialGC", "-Xmx8g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=info"]
    return [
        *java,
        "-cp",
        jars,
        "kraftmetalog.peer.Peer",
        *_arguments(schedule, schedule.warmup_s),
        *job,
    ]


def our_command(schedule: Schedule, *job: str) -> list[str]:
    return [
        sys.executable,
        str(ROOT / "bench" / "ours.py"),
        *_arguments(schedule, schedule.our_warmup_s),
        *job,
    ]


def library_command(schedule: Schedule, library: str) -> list[str]:
    python = LIBRARIES / "bin" / "python"
    return [
        str(python),
        str(ROOT / "bench" / "libraries.py"),
        *_arguments(schedule, schedule.our_warmup_s),
        library,
    ]


def _arguments(schedule: Schedule, warmup_s: float) -> list[str]:
    return [str(FOLDER), str(warmup_s), str(schedule.round_s), str(schedule.rounds)]


def run(command: list[str]) -> Figures:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr.strip()}")
    figures: Figures = json.loads(done.stdout)
    return figures


def side_by_side(name: str, schedule: Schedule, *job: str, with_kafka: bool = True) -> Sides:
    """Both sides in turn; the figures of all passes together."""
    sides = Sides({}, {})
    for _ in range(schedule.passes):
        if with_kafka:
            _add(sides.kafka, run(kafka_command(schedule, *job)))
        _add(sides.ours, run(our_command(schedule, *job)))
    say(f"{name}: measured")
    return sides


def _add(together: Figures, more: Figures) -> None:
    for figure, rounds in more.items():
        together.setdefault(figure, []).extend(rounds)


def started(command: list[str], times: int) -> tuple[float, float]:
    """Median seconds from start to end of a process: by the clock, and of CPU."""
    walls, cpus = [], []
    for _ in range(times):
        before = os.times()
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        walls.append(time.perf_counter() - start)
        after = os.times()
        cpus.append(
            after.children_user
            - before.children_user
            + after.children_system
            - before.children_system
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stderr.strip()}")
    return median(walls), median(cpus)


def start_ups(schedule: Schedule) -> Seconds:
    log = workloads.shorter_log(START_RECORDS)
    metalog = str(Path(sys.executable).with_name("metalog"))
    once = schedule._replace(warmup_s=0, our_warmup_s=0, rounds=0)
    commands = {
        "`python -c pass`": [sys.executable, "-c", "pass"],
        "`metalog --version`": [metalog, "--version"],
        "`metalog acls` of a small log": [metalog, "acls", str(DEMO)],
        f"kafka: {FIRST_DECISION}": kafka_command(once, "first-decision", log),
        f"ours: {FIRST_DECISION}": our_command(once, "first-decision", log),
    }
    return {name: started(command, schedule.starts) for name, command in commands.items()}


def libraries(schedule: Schedule) -> dict[str, Figures]:
    by_library = {"kraft-metalog": run(our_command(schedule, "small"))}
    for name, library in (("Cedar (cedarpy)", "cedar"), ("Casbin (pycasbin)", "casbin")):
        by_library[name] = run(library_command(schedule, library))
        if by_library[name]["allowed"] != by_library["kraft-metalog"]["allowed"]:
            raise SystemExit(f"{name} and kraft-metalog do not answer alike")
    return by_library


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def measure(schedule: Schedule) -> Results:
    whole = schedule._replace(warmup_s=0, our_warmup_s=0, rounds=schedule.whole_runs)
    log, records = "replay.log", schedule.replayed
    if records < workloads.REPLAY_BATCHES * workloads.REPLAY_BATCH_RECORDS:
        log = workloads.shorter_log(records)
    return Results(
        decisions={
            name: side_by_side(name, schedule, "decide", *job)
            for name, job in DECISIONS.items()
            if name not in schedule.left_out
        },
        cold={name: side_by_side(name, schedule, *job) for name, job in COLD_JOBS.items()},
        by_type=side_by_side("W8-by-resource-type", schedule, "by-resource-type", "bench"),
        many=MANY,
        many_actions=side_by_side("many actions", schedule, "many", "plain", "uniform", str(MANY)),
        bulk=side_by_side("bulk", schedule, "bulk", "plain", with_kafka=False),
        blocks=side_by_side("blocks", schedule, "blocks", "uniform", with_kafka=False),
        load=side_by_side("load", whole, "load", "load"),
        update=side_by_side("update", schedule, "update", "load"),
        heap=heap(whole),
        replayed=records,
        replay=side_by_side("replay", whole, "replay", log, str(records)),
        start_ups=start_ups(schedule),
        libraries=libraries(schedule),
    )


def heap(schedule: Schedule) -> Sides:
    log = workloads.shorter_log(START_RECORDS)
    return Sides(
        run(kafka_command(schedule, "heap", "load")), run(our_command(schedule, "heap", log))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="in under five minutes")
    is_quick = parser.parse_args().quick
    workloads.make()
    began = time.time()
    busy = os.getloadavg()[0]
    results = measure(QUICK if is_quick else FULL)
    text = report.page(results, is_quick=is_quick, began=began, busy=busy, root=ROOT)
    (FOLDER if is_quick else ROOT / "bench").joinpath("results.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()

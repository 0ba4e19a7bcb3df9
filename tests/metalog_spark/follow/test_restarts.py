"""``metalog pipeline follow``, started 20 times as its own process, as by cron and by people. Each
start has a JVM, so only ``make test-examples`` runs this. ``test_follow`` has the cheap part: kills
at a commit, and 20 reads of an edited configuration."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

from metalog_spark.follow.batch import progress_of
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import DECISIONS, REQUESTS
from tests.metalog_spark.follow.test_follow import AS_OF_A_KRAFT_NODE, Followed
from tests.support.command.runs import run_metalog
from tests.support.kafka.cases import REPOSITORY
from tests.support.spark.followed_world import READ_T, appears, line
from tests.support.suite.waiting import eventually

STARTS = 20


def test_followed_through_twenty_starts_each_line_counts_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A start ends by itself, by Ctrl-C, or by kill -9 at any moment, of the process alone or also
    of its JVM and workers. The node's file is edited in between. A file that decides otherwise is
    refused, and changes nothing."""
    world = Followed(tmp_path)
    world.log.bind(1, 1, READ_T)
    world.log.goes_on(10 * STARTS + 100)
    words = ["pipeline", "follow", *world.words]
    running_on = [word for word in words if word != "--once"]
    random = Random(19)
    took_s = 0.0
    for start in range(STARTS):
        world.config.write_text(f"{AS_OF_A_KRAFT_NODE}log.retention.hours={168 + start}\n")
        appears(
            tmp_path / "audit", f"b1.log.{start}", [line(10 * start + 5, "User:app", allowed=True)]
        )
        if start % 4 == 1:
            end_by_ctrl_c(spark, world, start, running_on)
        elif start % 4 == 0:
            began = time.monotonic()
            check_runs_once(words)
            took_s = time.monotonic() - began
        else:
            kill_after(random.uniform(0.2, 1.2) * took_s, running_on, everything=start % 4 == 3)
    check_runs_once(words)
    world.config.write_text(AS_OF_A_KRAFT_NODE.replace("super.users=", "super.users=User:app"))
    refused = run_metalog(*words)
    assert refused.returncode == 2
    assert "were decided with another --config" in refused.stderr
    tables = Tables.open(spark, world.out)
    for table in REQUESTS, DECISIONS:
        files = [row.file.rpartition("/")[2] for row in tables.read(table).collect()]
        assert sorted(files) == sorted(f"b1.log.{start}" for start in range(STARTS))
    assert tables.read(DECISIONS).where("decided = 'ALLOWED' AND known").count() == STARTS


def check_runs_once(words: list[str]) -> None:
    done = run_metalog(*words)
    assert done.returncode == 0, done.stderr


def kill_after(seconds: float, words: list[str], *, everything: bool) -> None:
    with started(words) as running:
        with suppress(subprocess.TimeoutExpired):
            running.wait(seconds)
        assert running.returncode is None, running.communicate()[1]
        if everything:
            os.killpg(running.pid, signal.SIGKILL)
        running.kill()


def started(words: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "shell.main", *words, "--every", "1"],
        cwd=REPOSITORY,
        env={**os.environ, "NO_COLOR": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end_by_ctrl_c(spark: SparkSession, world: Followed, start: int, words: list[str]) -> None:
    running = started(words)
    try:
        assert any(
            eventually(
                lambda: (
                    progress_of(Tables.open(spark, world.out)).decided > start
                    or running.poll() is not None
                )
            )
            for _ in range(10)
        )
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=120)
    finally:
        running.kill()
    assert running.returncode == 0, f"start {start}: {said}"

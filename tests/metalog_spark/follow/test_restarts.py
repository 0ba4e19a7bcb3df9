"""``metalog pipeline follow``, started 20 times as its own process, as by cron and by people. Each
start has a JVM, so only ``make test-examples`` runs this. ``test_follow`` has the cheap part: kills
at a commit, and 20 reads of an edited configuration."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

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
    """Every other start ends by Ctrl-C, and the node's file is edited in between."""
    world = Followed(tmp_path)
    world.log.bind(1, 1, READ_T)
    world.log.goes_on(10 * STARTS + 100)
    words = ["pipeline", "follow", *world.words]
    for start in range(STARTS):
        world.config.write_text(f"{AS_OF_A_KRAFT_NODE}log.retention.hours={168 + start}\n")
        appears(
            tmp_path / "audit", f"b1.log.{start}", [line(10 * start + 5, "User:app", allowed=True)]
        )
        if start % 2:
            end_by_ctrl_c(spark, world, start, [word for word in words if word != "--once"])
        else:
            done = run_metalog(*words)
            assert done.returncode == 0, f"start {start}: {done.stderr}"
    tables = Tables.open(spark, world.out)
    for table in REQUESTS, DECISIONS:
        files = [row.file.rpartition("/")[2] for row in tables.read(table).collect()]
        assert sorted(files) == sorted(f"b1.log.{start}" for start in range(STARTS))
    assert tables.read(DECISIONS).where("decided = 'ALLOWED' AND known").count() == STARTS


def end_by_ctrl_c(spark: SparkSession, world: Followed, start: int, words: list[str]) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "shell.main", *words, "--every", "1"],
        cwd=REPOSITORY,
        env={**os.environ, "NO_COLOR": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
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

"""Runs a verb of ``metalog pipeline`` in a process that kills itself at a step: just before the
step, or just after it, before Spark knows.

    python -m tests.support.spark.killed_pipeline before|after STEP follow|build ARGUMENTS…

A step of ``follow`` is the commit of batch STEP, a step of ``build`` the write of group STEP, with
two audit files a group. The process uses the Spark that its environment names (``session.shared``).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.conf import SparkConf
from pyspark.core.context import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import DataFrame, SparkSession

from metalog_spark.ingest import file_groups
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import DECISIONS, TableSchema
from shell.main import main
from tests.support.kafka.cases import REPOSITORY
from tests.support.spark.session import shared

note, write = Tables._note, Tables._write


def run_killed(spark: SparkSession, moment: str, step: int, *words: str | Path) -> None:
    """Run the verb ``words`` up to ``moment`` (before or after) of its ``step``."""
    with shared(spark) as environment:
        killed = subprocess.run(
            [sys.executable, "-m", __name__, moment, str(step), *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=REPOSITORY,
            env=environment,
        )
    assert killed.returncode == -signal.SIGKILL, killed.stderr


def attach() -> None:
    """Use the running Spark context for this process, in place of a new one."""
    gateway = launch_gateway()
    running = gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
    java = gateway.jvm.JavaSparkContext.fromSparkContext(running)
    SparkSession(SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jconf=java.getConf())))


def kill_at(moment: str, step: int) -> None:
    groups = count()

    def killed(do: Callable[[], None], *, is_it: bool) -> None:
        if is_it and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        do()
        if is_it:
            os.kill(os.getpid(), signal.SIGKILL)

    def noted(tables: Tables, change: Mapping[str, Any]) -> None:
        is_it = change.get("facts", {}).get("follow", {}).get("batch") == step
        killed(lambda: note(tables, change), is_it=is_it)

    def written(
        tables: Tables, table: TableSchema, rows: DataFrame, place: str, adds: bool = False
    ) -> None:
        is_it = table == DECISIONS and next(groups) == step
        killed(lambda: write(tables, table, rows, place, adds), is_it=is_it)

    if sys.argv[3] == "follow":
        Tables._note = noted  # type: ignore[method-assign]
    else:
        file_groups.MOST_FILES = 2  # type: ignore[misc]
        Tables._write = written  # type: ignore[method-assign]


if __name__ == "__main__":
    attach()
    kill_at(sys.argv[1], int(sys.argv[2]))
    sys.exit(main(["pipeline", *sys.argv[3:]]))

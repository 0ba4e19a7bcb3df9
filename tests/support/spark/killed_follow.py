"""Runs ``metalog pipeline follow``, which kills itself at a commit of its folder: just before the
write that makes batch N count, or just after it, before Spark knows.

    killed_follow.py before|after N ARGUMENTS…

It uses the Spark that its environment names (``session.shared``).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from pyspark.conf import SparkConf
from pyspark.core.context import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from metalog_spark.store.table_store import Tables
from shell.main import main

note = Tables._note


def attach() -> None:
    """Use the running Spark context for this process, in place of a new one."""
    gateway = launch_gateway()
    running = gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
    java = gateway.jvm.JavaSparkContext.fromSparkContext(running)
    SparkSession(SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jconf=java.getConf())))


def killing(moment: str, batch: int) -> None:
    def noted(tables: Tables, change: Mapping[str, Any]) -> None:
        is_it = change.get("facts", {}).get("follow", {}).get("batch") == batch
        if is_it and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        note(tables, change)
        if is_it:
            os.kill(os.getpid(), signal.SIGKILL)

    Tables._note = noted  # type: ignore[method-assign]


if __name__ == "__main__":
    attach()
    killing(sys.argv[1], int(sys.argv[2]))
    sys.exit(main(["pipeline", "follow", *sys.argv[3:]]))

"""Paths of this machine's disk, as Spark names them.

This module must not know what a file holds.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from metalog_spark.session import has_workers_elsewhere

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def local_path(named: str) -> str:
    """The path of a file that Spark names ``file:/x`` or ``file:///x``; others are returned as they
    are."""
    return re.sub(r"^file:/+", "/", named)


def folder_here(session: SparkSession, path: str) -> Path | None:
    """The folder that ``path`` means to Spark, if it is on this machine: then no Spark job is
    needed to read or write a small file. None if the workers or the file system are elsewhere."""
    if has_workers_elsewhere(session):
        return None
    place = local_path(path)
    if place == path:
        hadoop = session.sparkContext._jsc.hadoopConfiguration()
        place = path if hadoop.get("fs.defaultFS").startswith("file:") else ""
    return Path(place) if place.startswith("/") else None

"""Converts Spark's names of local files to paths.

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
    """The path ``/x`` for ``file:/x`` or ``file:///x``; other names are unchanged."""
    return re.sub(r"^file:/+", "/", named)


def folder_here(session: SparkSession, path: str) -> Path | None:
    """The folder on this machine's disk that Spark finds at ``path``. None if the workers or the
    file system are elsewhere."""
    if has_workers_elsewhere(session):
        return None
    place = local_path(path)
    if place == path:
        hadoop = session.sparkContext._jsc.hadoopConfiguration()
        place = path if hadoop.get("fs.defaultFS").startswith("file:") else ""
    return Path(place) if place.startswith("/") else None

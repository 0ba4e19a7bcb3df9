"""One Spark session for all tests, on one thread of one JVM.

Whoever takes the fixture ``spark`` runs on the one worker that has it (``xdist_group``), and
once, not on every Python (``once``). What the JVM prints is in ``build/spark-tests.log``.
Tables here have a handful of rows, so what counts is what each query costs before its first
row: no code is compiled for it, no plan is changed underway, and no file has a checksum, for
each of which Java would start a process to set permissions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from cases import BUILD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = BUILD / "spark-tests.log"
ON_ONE_THREAD = "local[1]"
SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.ui.explainMode": "simple",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": (
        "-Dspark.testing=true -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    ),
}
"""``spark.testing`` is what makes Spark heed the factory mode."""
OPTIONS = ("--master", ON_ONE_THREAD, *(f"--spark-conf={name}={SMALL[name]}" for name in SMALL))
"""The same for a verb in a process of its own."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from metalog.errors import InvalidRequest
    from metalog_spark.session import check_java, open_session

    try:
        check_java(os.environ)
    except InvalidRequest as error:
        pytest.skip(str(error))
    LOG.parent.mkdir(exist_ok=True)
    LOG.unlink(missing_ok=True)
    session = open_session(master=ON_ONE_THREAD, settings=SMALL, log=LOG)
    yield session
    session.stop()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.once)

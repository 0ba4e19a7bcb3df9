"""One Spark session for all tests, on two threads of one JVM.

Whoever takes the fixture ``spark`` runs on the one worker that has it (``xdist_group``), and
once, not on every Python (``once``). What the JVM prints is in ``build/spark-tests.log``.
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
SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


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
    session = open_session(master="local[2]", settings=SMALL, log=LOG)
    yield session
    session.stop()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.once)

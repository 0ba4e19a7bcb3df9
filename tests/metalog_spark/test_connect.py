"""The command works the same with Spark Connect. The server is in the shared session's JVM; the
client is another Python process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.command.runs import run_metalog
from tests.support.kafka.cases import kafka_case
from tests.support.kafka.tools import free_ports
from tests.support.spark.built_tables import everything
from tests.support.spark.followed_world import WrittenLog, appears, line


@pytest.fixture(scope="module")
def connect(spark: SparkSession) -> str:
    """The address of a Connect server, for the whole session."""
    [port] = free_ports(1)
    context = spark.sparkContext._jsc.sc()
    context.conf().set("spark.connect.grpc.binding.port", str(port))
    spark._jvm.org.apache.spark.sql.connect.service.SparkConnectService.start(context)
    return f"sc://127.0.0.1:{port}"


def test_a_cluster_without_acls_is_built(spark: SparkSession, connect: str, tmp_path: Path) -> None:
    """Most of its tables have no row, which Connect makes in another way."""
    WrittenLog(tmp_path / "log").goes_on(60)
    appears(tmp_path / "audit", "b1.log", [line(1, "User:app", allowed=False)])
    words = ("pipeline", "build", "--log", tmp_path / "log", "--audit", tmp_path / "audit")
    built = run_metalog(*words, "--out", tmp_path / "out", "--remote", connect)
    assert built.returncode == 0, built.stderr
    found = Counter(table for table, _ in everything(spark, tmp_path / "out").elements())
    a_row_each = ("history", "requests", "coverage", "decisions", "usage", "configuration")
    assert found == Counter(a_row_each)


A_PLAIN_SESSION = """
import json, sys
from pyspark.sql import SparkSession
from metalog_spark.history.datasource import register

def ours(batches):
    import pyarrow
    import sys
    for _ in batches:
        found = [path for path in sys.path if path.endswith("kraft_metalog.zip")]
        yield pyarrow.record_batch({"path": found})

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
found = spark.read.format("metalog").load(sys.argv[2]).count()
register(spark)
register(spark)
rows = spark.read.format("metalog").load(sys.argv[2]).count()
seen = spark.range(1).mapInArrow(ours, "path STRING").collect()
print(json.dumps([found, rows, [row["path"].rpartition("/")[2] for row in seen]]))
"""


def test_a_session_that_is_not_ours_reads_by_the_packages_of_its_client(connect: str) -> None:
    """A Connect server need not have them installed; its workers get them once. If it has them, it
    finds the format without registration."""
    folder = kafka_case("trimmed-4.3").log_dir
    done = subprocess.run(
        [sys.executable, "-c", A_PLAIN_SESSION, connect, folder],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found, rows, shipped = json.loads(done.stdout)
    assert found == rows > 0
    assert shipped == ["kraft_metalog.zip"]

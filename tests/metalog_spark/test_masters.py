"""One archive gives the same tables, row for row, wherever Spark runs. All but the tests' own Spark
start JVMs, so only ``make test-examples`` runs this."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.support.command.runs import run_metalog
from tests.support.kafka.tools import free_ports
from tests.support.spark.built_tables import everything
from tests.support.spark.followed_world import READ_T, WrittenLog, line
from tests.support.suite.waiting import eventually

ONE_EXECUTOR = ("--spark-conf", "spark.executor.memory=512m")
IN_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    port, page, worker, worker_page = free_ports(4)
    address = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    here = ("--host", "127.0.0.1", "--port")
    size = ("--cores", 1, "--memory", "1g", "--work-dir", folder / "work", address)
    jvms = [
        (f"{deploy}.master.Master", *here, port, "--webui-port", page),
        (f"{deploy}.worker.Worker", *here, worker, "--webui-port", worker_page, *size),
    ]
    with ExitStack() as stack:
        for number, words in enumerate(jvms):
            said = stack.enter_context((folder / f"jvm-{number}").open("w"))
            running = subprocess.Popen(
                [IN_CLASS, *map(str, words)],
                stdout=said,
                stderr=said,
                env={**os.environ, "SPARK_NO_DAEMONIZE": "1"},
            )
            stack.callback(running.wait)
            stack.callback(running.terminate)
        told = folder / "jvm-1"
        assert eventually(lambda: "Successfully registered" in told.read_text()), told.read_text()
        yield address


@contextmanager
def connect(spark: SparkSession) -> Iterator[str]:
    [port] = free_ports(1)
    context = spark.sparkContext._jsc.sc()
    context.conf().set("spark.connect.grpc.binding.port", str(port))
    spark._jvm.org.apache.spark.sql.connect.service.SparkConnectService.start(context)
    yield f"sc://127.0.0.1:{port}"


@pytest.fixture
def archive(tmp_path: Path) -> list[str | Path]:
    """Two days of two brokers, with lines of each kind."""
    log = WrittenLog(tmp_path / "log")
    log.bind(1, 1, READ_T)
    log.unbind(90_000, 1)
    log.goes_on(180_000)
    audit = tmp_path / "audit"
    audit.mkdir()
    for number, broker in enumerate(("b1", "b2")):
        times = enumerate(range(10 + number, 172_800, 7_200))
        lines = [line(at, "User:app", allowed=turn % 3 > 0) for turn, at in times]
        torn = lines[3].removesuffix("\n") + lines[4]
        (audit / f"{broker}.log").write_text("".join([*lines, torn, "no line\n", "\n"]))
    return ["pipeline", "build", "--json", "--log", log.folder, "--audit", audit]


def test_the_tables_are_the_same_wherever_spark_runs(
    spark: SparkSession, archive: list[str | Path], tmp_path: Path
) -> None:
    with standalone(tmp_path) as alone, connect(spark) as remote:
        places = {
            "local": ("--master", "local[2]"),
            "local-cluster": ("--master", "local-cluster[1,1,512]", *ONE_EXECUTOR),
            "standalone": ("--master", alone, *ONE_EXECUTOR),
            "connect": ("--remote", remote),
        }
        told = {}
        for name, words in places.items():
            done = run_metalog(*archive, "--out", tmp_path / name, *words, timeout_s=1_800)
            assert done.returncode in (0, 1), f"{name}: {done.stderr}"
            told[name] = done.stdout.replace(str(tmp_path / name), "OUT")
    local = everything(spark, tmp_path / "local")
    assert local.total() > 100
    for name in places:
        assert everything(spark, tmp_path / name) == local, name
        assert told[name] == told["local"]

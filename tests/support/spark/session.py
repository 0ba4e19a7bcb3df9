"""One Spark session for all tests of a worker, on one thread of one JVM.

Tests with the fixture ``spark`` are one group (``xdist_group``): a JVM takes 45 s of CPU until it
runs its code fast, so a second one costs more than it gains. They run on one Python version only
(``once``). The JVM's output is in ``build/spark-tests``.

Tables have only a few rows in tests, so most of the cost is what a query costs before its first
row. Therefore: no code generation, no adaptive plans, no printed plans, no second verification of
Spark's classes, no checksums of files, no large memory pages, and no process that sets a file's
permissions. Each test that starts Spark takes the fixture: otherwise it starts a JVM of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.support.kafka.cases import BUILD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = BUILD / "spark-tests" / os.environ.get("PYTEST_XDIST_WORKER", "")
LOG = FOLDER / "log"
CLASSES = FOLDER / "conf"
"""Where Spark looks for its settings, and Java for classes."""
FILES = "FilesWithoutPermissions"
JAVA = f"""
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;

public class {FILES} extends org.apache.hadoop.fs.RawLocalFileSystem {{
    public void setPermission(Path file, FsPermission permission) {{}}
}}
"""
ON_ONE_THREAD = "local[1]"
GROUP = "spark"
SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.debug.maxToStringFields": "0",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.log.level": "WARN",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "10",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.buffer.pageSize": "1m",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms1g -Xmn512m"
        " -XX:Tier3InvocationThreshold=50 -XX:Tier3MinInvocationThreshold=20"
        " -XX:Tier3CompileThreshold=300 -XX:Tier3BackEdgeThreshold=5000"
        " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
        " -XX:MetaspaceSize=256m -XX:ReservedCodeCacheSize=256m -XX:-MethodFlushing"
    ),
}
"""A session here runs thousands of plans, each only a few times. Compiling in one step, after a
quarter of the usual calls, saves a tenth of the CPU. The code cache is larger than the default of
48 MB, which overflows, and nothing is dropped from it. Pages as large as Spark chooses by the heap
fill it with zeros."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from metalog.errors import InvalidRequest
    from metalog_spark.session import check_java, open_session

    try:
        check_java(os.environ)
    except InvalidRequest as error:
        pytest.skip(str(error))
    FOLDER.mkdir(parents=True, exist_ok=True)
    LOG.unlink(missing_ok=True)
    _leave_out_defaults()
    session = open_session(master=ON_ONE_THREAD, settings=SMALL, log=LOG)
    _remember_classes()
    _leave_permissions(session)
    yield session
    session.stop()


def _leave_out_defaults() -> None:
    """Drop the defaults of YARN, MapReduce and HDFS, which Spark sends along with each access to a
    file."""
    CLASSES.mkdir(exist_ok=True)
    for name in ("yarn", "mapred", "hdfs"):
        (CLASSES / f"{name}-default.xml").write_text("<configuration/>\n")
    os.environ["SPARK_CONF_DIR"] = str(CLASSES)


def _leave_permissions(session: SparkSession) -> None:
    """Replace setting permissions. Hadoop has no native library here, and starts a process for
    each folder and file, eight for one written table. Spark brings the compiler for the
    replacement."""
    java = session.sparkContext._gateway.jvm
    compiler = java.org.codehaus.janino.SimpleCompiler()
    compiler.cook(JAVA)
    (CLASSES / f"{FILES}.class").write_bytes(compiler.getBytecodes()[FILES])
    session.sparkContext._jsc.hadoopConfiguration().set("fs.file.impl", FILES)
    java.org.apache.hadoop.fs.FileSystem.closeAll()


def _remember_classes() -> None:
    """Cache class lookups. Each class that Spark's Python requests makes Java search some hundreds
    of jars, several times, and again at the next request."""
    from py4j.java_gateway import JVMView

    look_up = JVMView.__getattr__

    def remembered(view: JVMView, name: str) -> object:
        found = view.__dict__[name] = look_up(view, name)
        return found

    JVMView.__getattr__ = remembered


@contextmanager
def shared(spark: SparkSession) -> Iterator[dict[str, str]]:
    """Environment variables with which one other Python at a time uses this Spark as its own.
    Spark's callbacks go to that process, and back to this one at the end."""
    from py4j.java_gateway import JavaObject

    gateway = spark.sparkContext._gateway
    port, secret = gateway.gateway_parameters.port, gateway.gateway_parameters.auth_token
    yield os.environ | {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    if vars(gateway).get("_callback_server") is not None:
        java = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
        java.resetCallbackClient(java.getCallbackClient().getAddress(), gateway._python_proxy_port)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group(GROUP))
            item.add_marker(pytest.mark.once)

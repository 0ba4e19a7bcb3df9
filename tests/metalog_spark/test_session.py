"""A session, or one line with the reason why there is none; and our code on every worker."""

from __future__ import annotations

import ast
import os
import signal
import socket
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from metalog.errors import CorruptLog, InvalidRequest
from metalog_spark.session import (
    check_java,
    error_of_ours,
    errors_of_spark,
    first_line,
    is_local,
    java_options,
    open_session,
    sockets,
    write_packages,
)
from tests.support.command.runs import run_python
from tests.support.kafka.cases import REPOSITORY
from tests.support.kafka.tools import free_ports


def test_without_java_one_line_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"^Spark needs Java 17 .*openjdk-17-jre-headless"):
        check_java({"PATH": str(tmp_path)})
    with pytest.raises(InvalidRequest, match=rf"^JAVA_HOME: no {tmp_path}/bin/java; Spark"):
        check_java({"PATH": os.environ["PATH"], "JAVA_HOME": str(tmp_path)})
    check_java(os.environ)


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_java_sees_all_names_where_the_locale_is_for_ascii(locale: str) -> None:
    """It reports the encoding that it uses for names."""
    code = (
        "import os, subprocess, sys\n"
        "from metalog_spark.session import names_in_utf8\n"
        "with names_in_utf8():\n"
        "    subprocess.run(['java', '-XshowSettings:properties', '-version'], check=True)\n"
        "print(os.environ['LC_ALL'])"
    )
    done = run_python("-c", code, environment={"LC_ALL": locale})
    assert "sun.jnu.encoding = UTF-8" in done.stderr
    assert done.stdout == f"{locale}\n"


def test_a_jvm_is_told_of_one_collector(tmp_path: Path) -> None:
    """With two it ends with "Conflicting collector combinations in option list"."""
    ours = java_options({}, {})
    assert [*ours] == ["spark.driver.defaultJavaOptions"]
    assert "-XX:+UseParallelGC" in ours["spark.driver.defaultJavaOptions"]
    assert java_options({"spark.driver.extraJavaOptions": "-Dx=UseG1GC"}, {}) == ours
    assert not java_options({"spark.driver.extraJavaOptions": "-Xss4m -XX:+UseG1GC"}, {})
    assert not java_options({"spark.driver.defaultJavaOptions": "-Dx=y"}, {})
    assert not java_options({}, {"JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC"})
    defaults = tmp_path / "spark-defaults.conf"
    assert java_options({}, {"SPARK_CONF_DIR": str(tmp_path)}) == ours
    defaults.write_text("spark.driver.extraJavaOptions -XX:+UseZGC\n")
    assert not java_options({}, {"SPARK_CONF_DIR": str(tmp_path)})
    (tmp_path / "conf").mkdir()
    defaults.rename(tmp_path / "conf" / defaults.name)
    assert not java_options({}, {"SPARK_HOME": str(tmp_path)})


def test_sockets_are_where_their_paths_are_short_enough() -> None:
    """A name as PySpark's daemon makes it must fit into the system's ``sun_path``."""
    with TemporaryDirectory(dir="/tmp") as short:
        longest = Path(short, "f" * (60 - len(short) - 1))
        longest.mkdir()
        assert sockets(longest)["spark.python.unix.domain.socket.dir"] == str(longest)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(longest / f".{uuid4()}.sock"))
        assert not sockets(longest.with_name(longest.name + "f"))


def test_an_error_of_a_query_is_raised_and_not_printed_as_well(
    spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PySparkException, match="nothing"):
        spark.sql("SELECT nothing FROM range(1)")
    assert capfd.readouterr().err == ""


def test_workers_of_this_machine_are_talked_to_through_a_folder(spark: SparkSession) -> None:
    """Spark's own variable tells them."""
    ask = udf(lambda _: os.environ["PYTHON_UNIX_DOMAIN_ENABLED"])
    assert spark.range(1).select(ask("id")).first() == ("True",)


def test_what_spark_was_started_with_is_not_left_to_others(spark: SparkSession) -> None:
    """``SPARK_HOME`` would tell a command started from here that Spark is elsewhere."""
    ask = udf(lambda _: os.environ["SPARK_HOME"])
    assert spark.range(1).select(ask("id")).first() != (os.environ.get("SPARK_HOME"),)


def test_ctrl_c_while_spark_starts_leaves_no_jvm() -> None:
    """PySpark removes the folder through which a JVM reports its address, and the JVM goes on."""
    code = (
        "import os, signal, threading\n"
        "from metalog_spark.session import open_session\n"
        "os.setsid()\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    open_session(master='local[1]')\n"
        "except KeyboardInterrupt:\n"
        "    print(os.getpid())"
    )
    done = run_python("-c", code)
    group = int(done.stdout)
    for _ in range(600):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)
    raise AssertionError("the JVM goes on")


def test_spark_is_started_or_asked() -> None:
    with pytest.raises(InvalidRequest, match="give only one"):
        open_session(master="local", remote="sc://localhost")
    with pytest.raises(InvalidRequest, match="the tables need UTC for their days and hours"):
        open_session(settings={"spark.sql.session.timeZone": "Europe/Berlin"})


def test_a_server_that_is_not_there_is_said_at_once() -> None:
    """Spark itself retries for a minute and a half, or for ten."""
    one, other = (f"127.0.0.1:{port}" for port in free_ports(2))
    with pytest.raises(InvalidRequest, match=rf"^sc://{one}/;user_id=me: nothing listens there"):
        open_session(remote=f"sc://{one}/;user_id=me")
    with pytest.raises(InvalidRequest, match=rf"^spark://{one},{other}: nothing listens there"):
        open_session(master=f"spark://{one},{other}")


@pytest.mark.parametrize("master", ["local", "local[4]", "local[*]", "local[2,3]"])
def test_workers_that_are_this_machine_s(master: str) -> None:
    assert is_local(master)


@pytest.mark.parametrize("master", ["yarn", "spark://h:7077", "local-cluster[1,1,1024]"])
def test_workers_that_are_not(master: str) -> None:
    assert not is_local(master)


def test_what_is_sent_to_workers_is_enough(tmp_path: Path) -> None:
    """A Python without our packages reads and decides with the archive alone."""
    write_packages(tmp_path / "ours.zip")
    ours = ("metalog_spark.history.datasource", "metalog_spark.history.changelog")
    modules = ", ".join((*ours, "authorizer.standard", "metalog_sources.replay"))
    code = (
        f"import sys; sys.path[:] = [{str(tmp_path / 'ours.zip')!r}] + [p for p in sys.path if p]\n"
        "sys.meta_path[:] = [f for f in sys.meta_path if '__editable__' not in repr(f)]\n"
        f"import {modules}\n"
        "print(metalog_spark.history.datasource.__file__)"
    )
    done = run_python("-P", "-c", code)
    assert done.returncode == 0, done.stderr
    assert "ours.zip" in done.stdout


def test_what_is_sent_to_workers_imports_nothing_else_of_ours(tmp_path: Path) -> None:
    """Each import in the archive is of a package in it, or of an installed one."""
    write_packages(tmp_path / "ours.zip")
    sent, imported = set(), set()
    with zipfile.ZipFile(tmp_path / "ours.zip") as packed:
        for name in packed.namelist():
            sent.add(name.partition("/")[0])
            for node in ast.walk(ast.parse(packed.read(name))):
                if isinstance(node, ast.Import):
                    imported.update(each.name for each in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    imported.add(node.module)
    packages = {name.partition(".")[0] for name in imported}
    ours = {name for name in packages if (REPOSITORY / name / "__init__.py").is_file()}
    assert ours > {"metalog", "metalog_spark"}
    assert ours <= sent


def test_a_session_is_utc_and_ansi(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"


def test_an_error_of_ours_comes_back_from_a_worker_as_one_line(spark: SparkSession) -> None:
    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from ()
        raise CorruptLog("the checksum does not match", file="x.log", offset=7, byte=99)

    with pytest.raises(PySparkException) as caught:
        spark.range(1).mapInArrow(fail, "id BIGINT").collect()
    found = error_of_ours(caught.value)
    assert isinstance(found, CorruptLog)
    assert str(found) == "x.log, offset 7, byte 99: the checksum does not match"


def test_an_error_of_sparks_is_none_of_ours(spark: SparkSession) -> None:
    with pytest.raises(errors_of_spark()) as caught:
        spark.read.parquet("/nowhere/to/be/found")
    assert error_of_ours(caught.value) is None
    assert first_line(caught.value).startswith("[PATH_NOT_FOUND]")


def test_of_what_java_says_the_first_line_with_news() -> None:
    said = (
        "An error occurred while calling o60.collectToPython.\n"
        ": org.apache.spark.SparkException: Job aborted\n\tat org.apache.spark"
    )
    assert first_line(Exception(said)) == "org.apache.spark.SparkException: Job aborted"


def test_what_a_worker_lacks_is_named() -> None:
    said = "Traceback:\n  File x\nModuleNotFoundError: No module named 'google_crc32c'\n SQLSTATE"
    found = error_of_ours(Exception(said))
    assert str(found).startswith("Spark's Python has no google_crc32c; pip install")

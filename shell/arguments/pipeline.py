"""The options of a pipeline verb: where Spark runs, and the folder.

This module must not know what is computed, and it imports Spark only on demand.
"""

from __future__ import annotations

import logging
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkstemp
from typing import TYPE_CHECKING, Final

from metalog.errors import InvalidRequest, MetalogError
from metalog_sources.names import folder_to_write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from metalog_spark.store.table_store import Tables
    from shell.output.output import Output


CLUSTER_VARIABLES: Final = frozenset({"SPARK_CONF_DIR", "SPARK_HOME", "HADOOP_CONF_DIR"})
"""Environment variables that can make Spark use another machine."""
_PACKAGES: Final = ("pyspark", "pandas", "pyarrow", "jinja2")
_HARMLESS: Final = ("spark.driver.memory=", "spark.executor.", "spark.sql.", "spark.local.dir=")
"""Prefixes of Spark settings that do not make Spark use another machine."""


class SparkFailed(MetalogError):
    """Spark reported an error."""


def check_installed(output: Output) -> None:
    """Check that the pipeline's packages are installed. Each pipeline verb must call this first.

    Raises:
        InvalidRequest: a package is missing.
    """
    output.begin_progress("looking at the input")
    from metalog_spark.session import not_installed

    for name in _PACKAGES:
        if find_spec(name) is None:
            raise not_installed(ModuleNotFoundError(name=name))


def add_spark(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("where Spark runs")
    group.add_argument(
        "--master", metavar="URL", help="Spark's master (default: local[*], all of this machine)"
    )
    group.add_argument("--remote", metavar="URL", help="a Spark Connect server: sc://HOST:PORT")
    group.add_argument(
        "--spark-conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of Spark's, such as spark.driver.memory=8g",
    )


def add_folder(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="DIR", help="the folder that metalog pipeline build wrote"
    )


@contextmanager
def spark_session(
    arguments: Namespace, output: Output, *, reads: Sequence[str] = ()
) -> Iterator[SparkSession]:
    """The active Spark session, which stays open, or else a new session.

    If all paths in ``reads`` are on this machine and small, Spark starts and plans faster.

    Raises:
        SparkFailed: Spark failed in a new session; the message names Spark's log file.
    """
    from metalog_spark.session import open_session

    running = _active_session()
    if running is not None:
        yield running
        return
    # Hides py4j's long tracebacks of Ctrl-C.
    logging.getLogger().addHandler(logging.NullHandler())
    handle, name = mkstemp(prefix="metalog-spark-", suffix=".log")
    os.close(handle)
    log = Path(name)
    try:
        with output.busy("starting Spark"):
            session = open_session(
                master=arguments.master,
                remote=arguments.remote,
                settings=_settings(arguments.spark_conf),
                log=log,
                has_small_input=_are_small(arguments, reads),
            )
        try:
            with _one_line_errors(log):
                yield session
        finally:
            session.stop()
    except SparkFailed:
        raise
    except BaseException:
        if not log.stat().st_size:
            log.unlink()
        raise
    log.unlink()


@contextmanager
def opened_folder(arguments: Namespace, output: Output) -> Iterator[Tables]:
    from metalog_spark.store.table_store import Tables

    check_folder(arguments, arguments.folder)
    with spark_session(arguments, output, reads=[arguments.folder]) as session:
        with output.busy("opening the tables"):
            tables = Tables.open(session, arguments.folder)
        yield tables


@contextmanager
def writing_to(arguments: Namespace, out: str) -> Iterator[None]:
    """Lock ``out`` against other writers, if ``out`` is on this machine."""
    from metalog_spark.store.preflight import taken

    folder_to_write(out)
    if not is_here(arguments, out):
        yield
        return
    with taken(out):
        yield


def check_folder(arguments: Namespace, folder: str) -> None:
    """Raise ``InvalidSource`` if ``folder`` is incomplete or not a pipeline's folder. A folder on
    another machine is not checked."""
    from metalog_spark.store.preflight import check_can_be_read

    if is_here(arguments, folder):
        check_can_be_read(folder)


def is_here(arguments: Namespace, path: str) -> bool:
    """Whether ``path`` is on this machine's disk. False if Spark can use another machine."""
    from metalog_spark.session import LOCAL, is_local
    from metalog_spark.store.table_store import placed

    other_settings = [
        setting for setting in arguments.spark_conf if not setting.startswith(_HARMLESS)
    ]
    is_elsewhere = arguments.remote or other_settings or not is_local(arguments.master or LOCAL)
    return (
        not is_elsewhere
        and CLUSTER_VARIABLES.isdisjoint(os.environ)
        and placed(path).startswith("/")
    )


def _are_small(arguments: Namespace, paths: Sequence[str]) -> bool:
    from metalog_spark.store.preflight import is_small

    are_here = bool(paths) and all(is_here(arguments, path) for path in paths)
    return are_here and is_small(paths)


def _active_session() -> SparkSession | None:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return None
    return SparkSession.getActiveSession()


def _settings(lines: list[str]) -> Mapping[str, str]:
    settings = {}
    for text in lines:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InvalidRequest(f"--spark-conf {text}: write it as KEY=VALUE")
        settings[key] = value
    return settings


@contextmanager
def _one_line_errors(log: Path) -> Iterator[None]:
    from metalog_spark.session import error_of_ours, errors_of_spark, first_line

    try:
        yield
    except errors_of_spark() as error:
        ours = error_of_ours(error)
        if ours is not None:
            raise ours from None
        raise SparkFailed(f"Spark: {first_line(error)}; {log} says more") from error

"""Opens a Spark session: on this machine, on a cluster, or on a Spark Connect server.

With a local master, Spark by default listens only on the loopback interface. Otherwise, this
process sends our packages to the Python workers. This module must not know what the session is for.
"""

from __future__ import annotations

import atexit
import locale
import logging
import os
import re
import shutil
import socket
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from metalog.errors import CorruptLog, InvalidRequest, MetalogError
from metalog.hosts.host_port import Address, parse_addresses
from metalog_spark.interrupts import first_ctrl_c

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APPLICATION: Final = "metalog pipeline"
LOCAL: Final = "local[*]"
_HERE: Final = "local"
"""The prefix of Spark masters whose workers run on this machine."""
_SHIPPED_TO: Final[WeakSet[SparkSession]] = WeakSet()
_SHIPPED: Final = (
    "metalog", "authorizer", "snapshot", "metalog_sources",
    "metalog_spark", "pyspark_metalog",
)  # fmt: skip
_TIME_ZONE: Final = "spark.sql.session.timeZone"
_ALWAYS: Final = {
    _TIME_ZONE: "UTC",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "131072",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.files.openCostInBytes": "65536",
    "spark.sql.maxConcurrentOutputFileWriters": "8",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "64",
    "spark.sql.hive.filesourcePartitionFileCacheSize": "0",
}
"""Settings of every session. Audit logs can have hundreds of thousands of small files. So one task
reads many files, few tasks list folders, and Spark does not cache the lists
(docs/decisions/0066-audit-files-through-spark.md)."""
_WHEN_STARTED: Final = {
    "spark.ui.enabled": "false",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
"""DataFrame debugging makes PySpark slow: PySpark sends the position of the code to the JVM for
each column that the code names."""
_ON_THIS_MACHINE: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
}
_SOCKETS: Final = "spark.python.unix.domain.socket"
_SOCKET_NAME_LENGTH: Final = len("/.12345678-1234-1234-1234-123456789012.sock")
_LONGEST_SOCKET: Final = 103
"""The longest path of a socket on macOS, in bytes; the limit of Linux is larger."""
_DEFAULT_OPTIONS: Final = "spark.driver.defaultJavaOptions"
_JAVA_OPTIONS: Final = (
    "-XX:+UseParallelGC -XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000"
    " -XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
"""The parallel garbage collector takes 10 to 20 % less CPU time than a concurrent one. A ten times
later start of the optimizing compiler (C2) saves 20 to 25 % of Spark's CPU time."""
_SMALL_JAVA_OPTIONS: Final = "-XX:+UseParallelGC -XX:TieredStopAtLevel=1"
_SMALL_SETTINGS: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""With small input, compilation costs more than it saves (docs/performance/small-queries.md)."""
_USER_OPTIONS: Final = re.compile(rf"-XX:\+Use\w+GC\b|{re.escape(_DEFAULT_OPTIONS)}")
_JVM_VARIABLES: Final = (
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_SUBMIT_OPTS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
)
_OURS: Final = re.compile(r"^\s*metalog\.errors\.(\w+): (.+)$", re.MULTILINE)
_LACKING: Final = re.compile(r"^\s*ModuleNotFoundError: No module named '(\w+)'", re.MULTILINE)
_GENERIC: Final = re.compile(r"An error occurred while calling \S+$")
_DATA_ERRORS: Final = ("CorruptLog", "CorruptSnapshot", "UnreadableRecord")
_SERVERS: Final = re.compile(r"(?:spark|sc)://([^/;]+:\d+)(?:[/;]|$)")
_LISTENS_WITHIN_S: Final = 5
_SPARK_HOME: Final = "SPARK_HOME"
_LOCALE: Final = "LC_ALL"
_ASCII: Final = ("ANSI_X3.4-1968", "US-ASCII")
"""The names that C libraries give to the encoding of the locales C and POSIX."""
_NO_JAVA: Final = (
    "Spark needs Java 17 or newer, and finds none: install it "
    "(on Debian: apt-get install openjdk-17-jre-headless), or set JAVA_HOME"
)


def open_session(
    *,
    master: str | None = None,
    remote: str | None = None,
    settings: Mapping[str, str] | None = None,
    log: Path | None = None,
    has_small_input: bool = False,
) -> SparkSession:
    """Open a session of ``master`` (``local[4]``, ``spark://…``, ``yarn``), or of the Connect
    server ``remote`` (``sc://HOST:PORT``, or ``local`` to start a server here). By default, the
    session uses all cores of this machine.

    ``settings`` override our Spark settings, but the time zone must be UTC. A JVM that starts here
    appends its standard error to the file ``log``. ``has_small_input`` makes Spark faster for a few
    MiB, and slower for more; a ``remote`` server ignores it.

    Raises:
        InvalidRequest: the arguments are invalid, or Spark is not available.
    """
    if master is not None and remote is not None:
        raise InvalidRequest("--master starts Spark, --remote connects to a server; give only one")
    if (settings or {}).get(_TIME_ZONE, "UTC") != "UTC":
        raise InvalidRequest(f"{_TIME_ZONE}: the tables need UTC for their days and hours")
    try:
        errors = errors_of_spark()
    except ModuleNotFoundError as error:
        raise not_installed(error) from None
    place = remote or master or LOCAL
    _check_is_not_refused(place)
    try:
        if remote is not None:
            session = _connected(remote, settings or {}, log)
        else:
            session = _started(master or LOCAL, settings or {}, log, has_small_input)
    except errors as error:
        more = "" if log is None else f"; {log} says more"
        raise InvalidRequest(
            f"{place}: Spark is not available: {first_line(error)}{more}"
        ) from None
    _leave_errors_to_callers()
    ship(session)
    return session


def _leave_errors_to_callers() -> None:
    """Silence the loggers that print a page of JSON for each error of a query."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def errors_of_spark() -> tuple[type[Exception], ...]:
    """The exceptions that calls of Spark can raise."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


def first_line(error: Exception) -> str:
    """The message of Spark's ``error``, without its long context."""
    lines = (line.strip().removeprefix(": ") for line in str(error).splitlines())
    message = next((line for line in lines if line and not _GENERIC.match(line)), "no reason given")
    return message.removesuffix(".")


def error_of_ours(error: Exception) -> MetalogError | None:
    """The ``MetalogError`` that our code raised in a worker, found in the text of Spark's
    ``error``. Also an error about a module that a worker lacks. None for any other error."""
    text = str(error)
    if errors := _OURS.findall(text):
        kind, message = errors[-1]
        return CorruptLog(message) if kind in _DATA_ERRORS else InvalidRequest(message)
    if lacking := _LACKING.search(text):
        return InvalidRequest(
            f"Spark's Python has no {lacking[1]}; pip install 'kraft-metalog[spark]' on each"
            " machine with Spark workers, or set PYSPARK_PYTHON to a Python that has this module"
        )
    return None


def not_installed(error: ModuleNotFoundError) -> InvalidRequest:
    """The error about a package of the ``[spark]`` extra that cannot be imported."""
    return InvalidRequest(
        f"the pipeline needs {error.name}: pip install 'kraft-metalog[spark]', or in a clone"
        " pip install '.[spark]'"
    )


def is_local(master: str) -> bool:
    """Whether ``master`` runs all of Spark in one JVM that this process starts."""
    return master == "local" or master.startswith("local[")


def _check_is_not_refused(place: str) -> None:
    """Raise ``InvalidRequest`` if no server listens, because Spark would silently retry for
    minutes. A server that cannot be checked passes: it may be behind a proxy."""
    match = _SERVERS.match(place)
    if match is not None and all(map(_is_refused, parse_addresses(match[1]))):
        raise InvalidRequest(
            f"{place}: nothing listens there; is Spark running, and is the port right?"
        )


def _is_refused(address: Address) -> bool:
    try:
        socket.create_connection(address, _LISTENS_WITHIN_S).close()
    except OSError as error:
        return isinstance(error, ConnectionRefusedError)
    return False


def _started(
    master: str, settings: Mapping[str, str], log: Path | None, has_small_input: bool
) -> SparkSession:
    from pyspark.sql import SparkSession

    check_java(os.environ)
    options = {**_ALWAYS, **_WHEN_STARTED}
    if master.startswith(_HERE):
        options |= _ON_THIS_MACHINE | sockets(_own_folder())
        of_java = _SMALL_JAVA_OPTIONS if has_small_input else _JAVA_OPTIONS
        options |= java_options(settings, os.environ, of_java)
    if has_small_input:
        options |= _SMALL_SETTINGS
    builder = SparkSession.builder.master(master).appName(APPLICATION)
    for key, value in {**options, **settings}.items():
        builder = builder.config(key, value)
    with first_ctrl_c() as interrupted, _errors_into(log), names_in_utf8(), _by_this_python(master):
        session = builder.getOrCreate()
    if interrupted.is_set():  # Ctrl-C waited for the JVM, which now ends with this process
        raise KeyboardInterrupt
    return session


def _connected(remote: str, settings: Mapping[str, str], log: Path | None) -> SparkSession:
    from pyspark.sql import SparkSession

    if remote.startswith(_HERE):
        check_java(os.environ)
    builder = SparkSession.builder.remote(remote)
    for key, value in {**_ALWAYS, **settings}.items():
        builder = builder.config(key, value)
    with _errors_into(log), names_in_utf8(), _by_this_python(remote):
        return builder.getOrCreate()


@contextmanager
def _by_this_python(place: str) -> Iterator[None]:
    """A JVM that this block starts runs its local workers with this Python and this PySpark, unless
    the environment names others. By default, each worker process would compile PySpark again."""
    is_this_python = place.startswith(_HERE) and (
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable) == sys.executable
    )
    if not is_this_python or _SPARK_HOME in os.environ:
        yield
        return
    import pyspark

    home = _own_folder()
    for name in ("bin", "jars"):
        (home / name).symlink_to(Path(pyspark.__file__).with_name(name))
    with _environment(_SPARK_HOME, str(home)):
        yield


def java_options(
    settings: Mapping[str, str], environ: Mapping[str, str], ours: str = _JAVA_OPTIONS
) -> dict[str, str]:
    """The setting with the options ``ours`` for Spark's JVM. Empty if the user configures this
    setting or a garbage collector: a JVM with two collectors does not start."""
    folder = environ.get("SPARK_CONF_DIR") or Path(environ.get(_SPARK_HOME, ""), "conf")
    defaults = Path(folder, "spark-defaults.conf")
    settings_text = [word for setting in settings.items() for word in setting]
    settings_text += [environ.get(name, "") for name in _JVM_VARIABLES]
    if defaults.is_file():
        settings_text.append(defaults.read_text(errors="replace"))
    return {} if any(map(_USER_OPTIONS.search, settings_text)) else {_DEFAULT_OPTIONS: ours}


def sockets(folder: Path) -> dict[str, str]:
    """Settings for Unix sockets in ``folder`` between Spark and its Python workers; empty if the
    path is too long. TCP connections can block forever (docs/performance/worker-sockets.md)."""
    if len(os.fsencode(folder)) + _SOCKET_NAME_LENGTH > _LONGEST_SOCKET:
        return {}
    return {f"{_SOCKETS}.enabled": "true", f"{_SOCKETS}.dir": str(folder)}


def check_java(environ: Mapping[str, str]) -> None:
    """Raise ``InvalidRequest`` if Spark finds no Java with the environment ``environ``."""
    home = environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else None
    has_java = shutil.which("java", path=environ.get("PATH")) if java is None else java.is_file()
    if not has_java:
        raise InvalidRequest(_NO_JAVA if java is None else f"JAVA_HOME: no {java}; {_NO_JAVA}")


@contextmanager
def _errors_into(log: Path | None) -> Iterator[None]:
    """Processes that this block starts write their standard error to the file ``log``."""
    if log is None:
        yield
        return
    sys.stderr.flush()
    ours = os.dup(2)
    theirs = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    try:
        os.dup2(theirs, 2)
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)
        os.close(theirs)


@contextmanager
def names_in_utf8() -> Iterator[None]:
    """A JVM that this block starts reads file names as UTF-8, as Python does. In an ASCII locale, a
    JVM by default silently skips other file names."""
    if locale.nl_langinfo(locale.CODESET) not in _ASCII:
        yield
        return
    with _environment(_LOCALE, "C.UTF-8"):
        yield


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _own_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="metalog-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def ship(session: SparkSession) -> None:
    """Send our packages to the session's Python workers, if they can be on other machines."""
    if session in _SHIPPED_TO or not has_workers_elsewhere(session):
        return
    archive = _own_folder() / "kraft_metalog.zip"
    write_packages(archive)
    session.addArtifacts(str(archive), pyfile=True)
    _SHIPPED_TO.add(session)


def has_workers_elsewhere(session: SparkSession) -> bool:
    """Whether the session's workers can be on other machines."""
    is_connect = type(session).__module__.startswith("pyspark.sql.connect.")
    return is_connect or not is_local(session.sparkContext.master or LOCAL)


def write_packages(archive: Path) -> None:
    """Write the source of our packages into the zip file ``archive``."""
    above = Path(__file__).resolve().parents[1]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for package in _SHIPPED:
            for path in sorted((above / package).rglob("*.py")):
                packed.write(path, path.relative_to(above))

"""Apache Kafka itself, run from its published jars: its tools, and a broker and controller.

``make kafka`` fetches the jars with Maven into ``build/kafka``; nothing is downloaded here.

This module must not know the code under test.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tests.support.kafka.cases import BUILD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.support.kafka.jvm import ToolsAnswer

KAFKA_VERSION = "4.3.1"
JARS = BUILD / "kafka" / KAFKA_VERSION / "jars"
NEWEST_KAFKA = "4.4.0"
"""The newest release; its kafka-tools and kafka-shell are not published."""
NEWEST_JARS = BUILD / "kafka" / NEWEST_KAFKA / "jars"

QUICK_START = (
    "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m",
    "-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr",
)  # fmt: skip
NO_VERIFICATION = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote")
"""Trusts Kafka's classes as they are. An archive of them must be made with verification."""
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
NO_CLEANER = {"log.cleaner.enable": "false"}
"""Switches off the log cleaner, which takes 128 MB at each start and has nothing to compact."""
CLUSTER_ID = "kraft-metalog-tests-AA"
START_LIMIT_S = 90.0
_CHANCE = SystemRandom()
_NOT_GIVEN = (10_240, 32_768)
"""Ports below those that Linux assigns to outgoing connections."""


def missing_for_kafka(jars: Path = JARS) -> str | None:
    """What is missing to run Kafka, and how to get it; None if nothing is."""
    if shutil.which("java") is None:
        return "Java 17 is not installed; run `make kafka`"
    if not any(jars.glob("kafka_*.jar")):
        return "Kafka's jars are not there; run `make kafka`"
    return None


class KafkaTools(NamedTuple):
    """Kafka's command-line tools, run in one Java process: see ``jvm``."""

    jars: Path
    keeps_classes: bool = False
    """See ``kafka_classes``."""

    @property
    def release(self) -> str:
        """The release, such as ``4.3``."""
        return self.jars.parent.name.rpartition(".")[0]

    def command(
        self, main: str, *arguments: str | Path, logging: str = QUIET, more_jars: str = ""
    ) -> list[str]:
        """The command line that runs ``main`` in a Java process of its own."""
        classpath = f"{self.jars}/*{more_jars}"
        texts = [str(argument) for argument in arguments]
        return ["java", *QUICK_START, *self._classes(), logging, "-cp", classpath, main, *texts]

    def _classes(self) -> Iterator[str]:
        """The JVM options that write the class archive, or use it. Without it, the JVM has only
        its default archive of Java's own classes."""
        kept = self.jars / "classes.jsa"
        if self.keeps_classes:
            yield f"-XX:ArchiveClassesAtExit={kept}"
            return
        yield from NO_VERIFICATION
        if kept.is_file():
            yield f"-XX:SharedArchiveFile={kept}"

    def answer(self, main: str, *arguments: str | Path) -> ToolsAnswer:
        """The tool's output, and its exit code."""
        from tests.support.kafka.jvm import tools_process

        return tools_process(self).run(main, [str(argument) for argument in arguments])

    @property
    def classes(self) -> Any:
        """Java's and Kafka's classes, callable from Python: see ``jvm``."""
        from tests.support.kafka.jvm import tools_process

        return tools_process(self).classes

    def run(self, main: str, *arguments: str | Path) -> str:
        """The tool's standard output.

        Raises:
            RuntimeError: the tool failed; the message has its whole output.
        """
        done = self.answer(main, *arguments)
        if done.exit_code:
            raise RuntimeError(f"{main} {arguments} failed:\n{done.out}\n{done.err}")
        return done.out

    def dump_log(self, file: Path, *options: str) -> str:
        """DumpLogSegments of a segment or snapshot, records decoded."""
        main = "org.apache.kafka.tools.DumpLogSegments"
        return self.run(main, "--cluster-metadata-decoder", *options, "--files", file)

    def storage(self, *arguments: str | Path) -> str:
        return self.run("kafka.tools.StorageTool", *arguments)


class RealKafka:
    """A broker and controller in one process, with its authorizer; every client is a super
    user."""

    def __init__(
        self,
        tools: KafkaTools,
        folder: Path,
        overrides: Mapping[str, str],
        *,
        dynamic: bool = False,
    ) -> None:
        self.tools = tools
        self.log_dir = folder / "log-dir"
        self.port, self.controller_port = free_ports(2)
        self.bootstrap = f"127.0.0.1:{self.port}"
        controller = f"127.0.0.1:{self.controller_port}"
        self.config = folder / "server.properties"
        self.output = folder / "server.out"
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            **(
                {"controller.quorum.bootstrap.servers": controller}
                if dynamic
                else {"controller.quorum.voters": f"1@{controller}"}
            ),
            "controller.listener.names": "CONTROLLER",
            "listeners": f"CLIENT://{self.bootstrap},CONTROLLER://{controller}",
            "inter.broker.listener.name": "CLIENT",
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.log_dir),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "group.initial.rebalance.delay.ms": "0",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            **NO_CLEANER,
            **overrides,
        }
        lines = [f"{key}={value}\n" for key, value in settings.items()]
        self.config.write_text("".join(lines), encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    @contextmanager
    def started(
        cls,
        tools: KafkaTools,
        folder: Path,
        *,
        overrides: Mapping[str, str] | None = None,
        format_options: Sequence[str] = (),
        dynamic: bool = False,
    ) -> Iterator[RealKafka]:
        """Yield a formatted node that runs and answers; at the end stop it and keep its folder.

        ``overrides`` are further lines of server.properties; ``format_options`` go to StorageTool,
        such as ``--add-scram``. ``dynamic`` formats with ``--standalone``, so that the log names
        the voters (KIP-853).
        """
        kafka = cls(tools, folder, overrides or {}, dynamic=dynamic)
        if dynamic:
            format_options = ("--standalone", *format_options)
        tools.storage("format", "-t", CLUSTER_ID, "-c", kafka.config, *format_options)
        with kafka:
            yield kafka

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def metadata_dir(self) -> Path:
        return self.log_dir / "__cluster_metadata-0"

    def start(self) -> None:
        logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=info"
        command = self.tools.command("kafka.Kafka", self.config, logging=logging)
        with self.output.open("wb") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self.stop()
            raise

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        while b"Kafka Server started" not in self.output.read_bytes():
            if process.poll() is not None or time.monotonic() > deadline:
                output = self.output.read_text(errors="replace")
                raise RuntimeError(f"Kafka did not start:\n{output[-4000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Shut down cleanly, as a service manager does."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill(self) -> None:
        """SIGKILL, as in a crash or when memory runs out."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def acls(self, *arguments: str) -> str:
        """Run kafka-acls on the running node."""
        main = "org.apache.kafka.tools.AclCommand"
        return self.tools.run(main, "--bootstrap-server", self.bootstrap, *arguments)

    def configs(self, *arguments: str) -> str:
        """Run kafka-configs on the running node."""
        main = "kafka.admin.ConfigCommand"
        return self.tools.run(main, "--bootstrap-server", self.bootstrap, *arguments)

    def topics(self, *arguments: str) -> str:
        """Run kafka-topics on the running node."""
        main = "org.apache.kafka.tools.TopicCommand"
        return self.tools.run(main, "--bootstrap-server", self.bootstrap, *arguments)


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 on which nobody listens, outside of the range that the system assigns to
    outgoing connections: otherwise such a connection could take one before the server starts."""
    ports: set[int] = set()
    while len(ports) < count:
        port = _CHANCE.randrange(*_NOT_GIVEN)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            ports.add(port)
    return list(ports)

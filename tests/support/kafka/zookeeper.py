"""ZooKeeper, and the last Kafka that ran on it, from their published jars.

``make kafka`` fetches them; nothing is downloaded here. This module must not know the code
under test.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.support.kafka.cases import BUILD
from tests.support.kafka.tools import KafkaTools, free_ports

KAFKA_VERSION = "3.9.1"
JARS = BUILD / "kafka" / KAFKA_VERSION / "jars"
START_LIMIT_S = 60.0


def missing_for_zookeeper() -> str | None:
    """What is missing to run ZooKeeper, and how to get it."""
    if shutil.which("java") is None:
        return "Java 17 is not installed; run `make kafka`"
    if not any(JARS.glob("zookeeper-*.jar")):
        return "ZooKeeper's jars are not there; run `make kafka`"
    return None


class RealZookeeper(NamedTuple):
    """A running server; ``address`` ends in the chroot that Kafka's tools create."""

    tools: KafkaTools
    server: str
    chroot: str

    @property
    def address(self) -> str:
        return self.server + self.chroot

    @classmethod
    @contextmanager
    def started(cls, folder: Path, chroot: str) -> Iterator[RealZookeeper]:
        tools = KafkaTools(JARS)
        [port] = free_ports(1)
        config = folder / "zoo.cfg"
        config.write_text(
            f"dataDir={folder / 'data'}\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
            "tickTime=2000\nadmin.enableServer=false\n"
        )
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        output = folder / "zookeeper.out"
        with output.open("wb") as file:
            process = subprocess.Popen(
                tools.command(main, config), stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )
        try:
            _wait_until_ready(port, process, output)
            yield cls(tools, f"127.0.0.1:{port}", chroot)
        finally:
            process.terminate()
            process.wait(timeout=60)

    def acls(self, *arguments: str) -> str:
        """Run kafka-acls with AclAuthorizer, as before the Admin API."""
        return self.tools.run(
            "kafka.admin.AclCommand",
            "--authorizer", "kafka.security.authorizer.AclAuthorizer",
            "--authorizer-properties", f"zookeeper.connect={self.address}",
            *arguments,
        )  # fmt: skip

    def configs(self, *arguments: str) -> str:
        """Run kafka-configs, which can still create the first SCRAM users this way."""
        return self.tools.run("kafka.admin.ConfigCommand", "--zookeeper", self.address, *arguments)


def _wait_until_ready(port: int, process: subprocess.Popen[bytes], output: Path) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                said = output.read_text(errors="replace")
                raise RuntimeError(f"ZooKeeper did not start:\n{said[-4000:]}") from None
            time.sleep(0.1)

"""A real quorum of three: Kafka nodes that are broker and controller in one, to be killed.

Started in processes of their own, all at once. A node can be killed, frozen and started
again. This module must not know the code under test.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import time
from base64 import urlsafe_b64encode
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kafka_tools import CLUSTER_ID, START_LIMIT_S, KafkaTools, free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

NODES = (1, 2, 3)


class KafkaQuorum:
    """``bootstrap`` is the brokers', ``controllers`` the controllers' addresses, by node."""

    def __init__(self, tools: KafkaTools, folder: Path, overrides: Mapping[str, str]) -> None:
        self.tools = tools
        self.folder = folder
        ports = free_ports(2 * len(NODES))
        self.brokers = {node: f"127.0.0.1:{ports[2 * at]}" for at, node in enumerate(NODES)}
        self.controllers = {node: f"127.0.0.1:{ports[2 * at + 1]}" for at, node in enumerate(NODES)}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        for node in NODES:
            self._configure(node, overrides)

    @classmethod
    @contextmanager
    def started(
        cls, tools: KafkaTools, folder: Path, overrides: Mapping[str, str] | None = None
    ) -> Iterator[KafkaQuorum]:
        quorum = cls(tools, folder, overrides or {})
        quorum._format()
        with quorum:
            yield quorum

    def __enter__(self) -> Self:
        try:
            self.start(*NODES)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def bootstrap(self) -> str:
        return ",".join(self.brokers.values())

    @property
    def controller_bootstrap(self) -> str:
        return ",".join(self.controllers.values())

    def metadata_dir(self, node: int) -> Path:
        return self._home(node) / "log-dir" / "__cluster_metadata-0"

    def output(self, node: int) -> Path:
        return self._home(node) / "server.out"

    def start(self, *nodes: int) -> None:
        """Start ``nodes`` at once, and wait for all of them."""
        for node in nodes:
            logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=info"
            config = self._home(node) / "server.properties"
            with self.output(node).open("wb") as output:
                self._processes[node] = subprocess.Popen(
                    self.tools.command("kafka.Kafka", config, logging=logging),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                )
        deadline = time.monotonic() + START_LIMIT_S
        for node in nodes:
            while b"Kafka Server started" not in self.output(node).read_bytes():
                if self._processes[node].poll() is not None or time.monotonic() > deadline:
                    said = self.output(node).read_text(errors="replace")
                    raise RuntimeError(f"node {node} did not start:\n{said[-4000:]}")
                time.sleep(0.1)

    def kill(self, node: int) -> None:
        process = self._processes.pop(node)
        process.kill()
        process.wait()

    def freeze(self, *nodes: int) -> None:
        for node in nodes:
            os.kill(self._processes[node].pid, signal.SIGSTOP)

    def thaw(self, *nodes: int) -> None:
        for node in nodes:
            os.kill(self._processes[node].pid, signal.SIGCONT)

    def stop(self) -> None:
        """All that still run, at once and not gently: their folders are not used again."""
        for node in list(self._processes):
            self.kill(node)

    def _home(self, node: int) -> Path:
        return self.folder / f"node-{node}"

    def _configure(self, node: int, overrides: Mapping[str, str]) -> None:
        voters = ",".join(f"{each}@{address}" for each, address in self.controllers.items())
        listeners = f"CLIENT://{self.brokers[node]},CONTROLLER://{self.controllers[node]}"
        settings = {
            "process.roles": "broker,controller",
            "node.id": str(node),
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "listeners": listeners,
            "inter.broker.listener.name": "CLIENT",
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self._home(node) / "log-dir"),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            **overrides,
        }
        self._home(node).mkdir(parents=True)
        lines = [f"{key}={value}\n" for key, value in settings.items()]
        (self._home(node) / "server.properties").write_text("".join(lines), encoding="utf-8")

    def _format(self) -> None:
        """One node by Kafka's tool; the others are given its folder under their own names."""
        first, *others = NODES
        config = self._home(first) / "server.properties"
        self.tools.storage("format", "-t", CLUSTER_ID, "-c", config)
        for node in others:
            folder = self._home(node) / "log-dir"
            shutil.copytree(self._home(first) / "log-dir", folder)
            properties = folder / "meta.properties"
            lines = properties.read_text(encoding="utf-8").splitlines()
            own = {"node.id": str(node), "directory.id": _some_uuid()}
            lines = [f"{key}={own.get(key, value)}" for key, _, value in map(_parted, lines)]
            properties.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _parted(line: str) -> tuple[str, str, str]:
    return line.partition("=")


def _some_uuid() -> str:
    return "A" + urlsafe_b64encode(secrets.token_bytes(16)).decode()[1:22]

"""Several of our nodes on one topic, each in its own process, and clients that keep creating ACLs
on them, whichever node is active.

This module must not know which node is killed when.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from metalog import TopicLog
from metalog.errors import InvalidRequest
from metalog.hosts.host_port import Address
from metalog.ports import Appended
from metalog.records.messages import LeaderChangeMessage
from metalog.wire.client.connection import Connection
from metalog.wire.client.security import client_settings
from tests.support.kafka.tools import free_ports
from tests.support.node.served import OPEN
from tests.support.wire.admin_requests import create, creation

SETTINGS = client_settings({"request.timeout.ms": "15000"})


class TopicNodeProcess:
    """``metalog serve`` on ``topic``, with listeners on ports of its own."""

    def __init__(self, topic: str, node_id: int, folder: Path, *, is_broker: bool = False) -> None:
        self.node_id = node_id
        client, controller = free_ports(2)
        self.address = Address("127.0.0.1", client)
        self.controller = Address("127.0.0.1", controller)
        self._listeners = {"CLIENT": self.address}
        if not is_broker:
            self._listeners["CONTROLLER"] = self.controller
        listeners = ",".join(f"{name}://{address}" for name, address in self._listeners.items())
        self._config = folder / f"node-{node_id}.properties"
        self._config.write_text(
            f"process.roles={'broker' if is_broker else 'broker,controller'}\n"
            f"node.id={node_id}\n"
            f"listeners={listeners}\n"
            "listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
            "controller.listener.names=CONTROLLER\n"
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
            "super.users=User:ANONYMOUS\n"
            f"metadata.log.dir={topic}\n"
        )
        self.output = folder / f"node-{node_id}.out"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "shell.main", "serve", "--config", str(self._config)]
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output)

    def wait_until_open(self, within_s: float = 120.0) -> None:
        deadline = time.monotonic() + within_s
        while not self._listeners.keys() <= self._opened():
            if time.monotonic() > deadline:
                raise RuntimeError(self.output.read_text())
            time.sleep(0.1)

    def kill(self) -> None:
        """SIGKILL; its output is discarded."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self.output.write_bytes(b"")

    def send(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def stop(self) -> None:
        self.send(signal.SIGTERM)
        self.wait_until_ended()

    def wait_until_ended(self) -> None:
        if self._process is not None:
            assert self._process.wait(timeout=120) == 0, self.output.read_text()
            self._process = None

    def _opened(self) -> set[str]:
        lines = self.output.read_text().splitlines()
        return {match[1] for line in lines if (match := OPEN.match(line)) is not None}


@contextmanager
def topic_nodes(
    topic: str, folder: Path, *, controllers: int, brokers: int = 0
) -> Iterator[list[TopicNodeProcess]]:
    """Started nodes with open listeners, numbered from 1, brokers last; stopped by SIGTERM at the
    end."""
    nodes = [
        TopicNodeProcess(topic, node_id, folder, is_broker=node_id > controllers)
        for node_id in range(1, controllers + brokers + 1)
    ]
    try:
        for node in nodes[:controllers]:
            node.start()
        for node in nodes[:controllers]:
            node.wait_until_open()
        for node in nodes[controllers:]:
            node.start()
            node.wait_until_open()
        yield nodes
        for node in nodes:
            node.send(signal.SIGTERM)
        for node in nodes:
            node.wait_until_ended()
    finally:
        for node in nodes:
            node.kill()


def leader_of(topic: str) -> int:
    """The leader in the topic's last LEADER_CHANGE."""
    changes = [
        message.leader_id
        for event in TopicLog(topic).read(0)
        if isinstance(event, Appended) and event.batch.is_control
        for message in event.batch.messages()
        if isinstance(message, LeaderChangeMessage)
    ]
    return changes[-1]


class Load:
    """``with Load(nodes):`` runs one client per node; each creates one ACL after the other.

    ``acknowledged`` are the resource names that a node acknowledged, with the times of the answer
    and of the request's first attempt. ``asked`` are all names that may have been created.
    """

    def __init__(self, nodes: Sequence[TopicNodeProcess]) -> None:
        self.acknowledged: list[tuple[float, float, str]] = []
        self.asked: set[str] = set()
        self._is_over = threading.Event()
        self._threads = [
            threading.Thread(target=self._create, args=(node.node_id, node.address), daemon=True)
            for node in nodes
        ]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def waits_for(self, names: int, since_s: float, within_s: float) -> float:
        """Wait until ``names`` ACLs were requested after ``since_s`` and acknowledged; returns the
        time of the first."""
        deadline = time.monotonic() + within_s
        while True:
            found = sorted(done for done, begun, _ in list(self.acknowledged) if begun > since_s)
            if len(found) >= names:
                return found[0]
            assert time.monotonic() < deadline, f"{len(found)} created in {within_s} s"
            time.sleep(0.02)

    def _create(self, node_id: int, address: Address) -> None:
        connection: Connection | None = None
        for number in count():
            name = f"load-{node_id}-{number}"
            self.asked.add(name)
            begun = time.monotonic()
            while True:
                if self._is_over.is_set():
                    if connection is not None:
                        connection.close()
                    return
                try:
                    connection = connection or Connection(address, SETTINGS)
                    answer = connection.ask(create(creation(resource_name=name)))
                    if int(answer.results[0].error_code) == 0:
                        break
                except InvalidRequest:
                    connection = None
                time.sleep(0.05)
            self.acknowledged.append((time.monotonic(), begun, name))

"""A real Kafka and ``metalog serve`` side by side: runs the same commands on both.

This module must not know which commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from metalog.hosts.host_port import Address, parse_addresses
from tests.support.disk.written_log import formatted
from tests.support.kafka.tools import KafkaTools, RealKafka
from tests.support.node.running import BOTH_ROLES
from tests.support.node.served import served

ACL_COMMAND = "org.apache.kafka.tools.AclCommand"
CONFIG_COMMAND = "kafka.admin.ConfigCommand"


class Cluster(NamedTuple):
    """The addresses of a cluster's brokers and controllers."""

    broker: Address
    controller: Address


class TwoClusters(NamedTuple):
    tools: KafkaTools
    theirs: Cluster
    ours: Cluster

    def printed(self, main: str, *arguments: str, by_controller: bool = False) -> list[list[str]]:
        """The tool's stdout and stderr on Kafka and on our node. Lines are sorted, since Kafka's
        are in a hash table's order."""

        def run(cluster: Cluster) -> list[str]:
            option, address = (
                ("--bootstrap-controller", cluster.controller)
                if by_controller
                else ("--bootstrap-server", cluster.broker)
            )
            done = self.tools.answer(main, option, str(address), *arguments)
            return sorted(_lines((done.out + done.err).replace(str(address), "HOST:PORT")))

        return [run(self.theirs), run(self.ours)]


def _lines(text: str) -> list[str]:
    """The lines in comparable form. The first ACL under a heading has one more blank. Java's own
    frames in a stack trace change after some calls."""
    lines = re.sub(r": \n \t", ": \n\t", text).splitlines()
    return [line for line in lines if not line.startswith("\tat ")]


@contextmanager
def beside(kafka: RealKafka, folder: Path) -> Iterator[TwoClusters]:
    """Our node in a process of its own, beside ``kafka``, which runs already."""
    formatted(folder / "log")
    config = folder / "server.properties"
    settings = {**BOTH_ROLES, "metadata.log.dir": str(folder / "log")}
    config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    [broker] = parse_addresses(kafka.bootstrap)
    theirs = Cluster(broker, Address("127.0.0.1", kafka.controller_port))
    with served("--config", str(config), listeners=2) as told:
        [ours] = parse_addresses(told["PLAINTEXT"])
        [controller] = parse_addresses(told["CONTROLLER"])
        yield TwoClusters(kafka.tools, theirs, Cluster(ours, controller))

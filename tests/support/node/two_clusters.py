"""A real Kafka and ``metalog serve``, side by side: the same commands, what each prints.

This module must not know what is asked of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from metalog.wire.hosts import Address, parse_addresses
from tests.support.disk.written_log import formatted
from tests.support.kafka.tools import KafkaTools, RealKafka
from tests.support.node.running import BOTH_ROLES
from tests.support.node.served import served

ACL_COMMAND = "org.apache.kafka.tools.AclCommand"
CONFIG_COMMAND = "kafka.admin.ConfigCommand"


class Cluster(NamedTuple):
    """Where its brokers and where its controllers are reached."""

    broker: Address
    controller: Address


class TwoClusters(NamedTuple):
    tools: KafkaTools
    theirs: Cluster
    ours: Cluster

    def printed(self, main: str, *arguments: str, by_controller: bool = False) -> list[list[str]]:
        """What the tool prints, on stdout and stderr, of Kafka and of us; lines sorted, for
        Kafka's are in the order of a hash table."""

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
    """The first ACL under a heading is indented by a blank more than the others. Through which of
    its own frames Java calls a tool changes after some calls."""
    lines = re.sub(r": \n \t", ": \n\t", text).splitlines()
    return [line for line in lines if not line.startswith("\tat ")]


@contextmanager
def beside(kafka: RealKafka, folder: Path) -> Iterator[TwoClusters]:
    """``kafka`` runs already; our node is started, in a process of its own."""
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

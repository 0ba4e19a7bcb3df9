"""Logs in topics for tests: on librdkafka's own mock cluster, or at a real broker.

The mock takes an offset for each transaction's marker, as Kafka does, but it shows aborted
records to everybody, knows no settings of topics, gives each four partitions and its markers
no checksum: what it says of transactions proves nothing. This module must not know what a
test claims.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import confluent_kafka

from metalog.kafka_client import Troubles
from metalog.log.topic.address import parse_address
from metalog.log.topic.cluster import TopicCluster, TopicFacts
from metalog.log.topic.writer import NEW_TOPIC

_numbers = count(time.time_ns())


def new_address(bootstrap: str) -> str:
    """Of a topic that is not there yet."""
    return f"topic://{bootstrap}/log-{next(_numbers)}"


def producer(address: str, **settings: str) -> Any:
    """Somebody who writes to the cluster of ``address`` by itself, and says nothing."""
    servers = parse_address(address).servers
    quiet = {**Troubles().settings, "bootstrap.servers": servers}
    return confluent_kafka.Producer(
        {**quiet, **{k.replace("_", "."): v for k, v in settings.items()}}
    )


class MockedCluster(TopicCluster):
    """The mock as if its topics were what a writer makes."""

    def __init__(self, address: str) -> None:
        super().__init__(parse_address(address), {"check.crcs": "false"})

    def facts(self) -> TopicFacts:
        producer(str(self.address)).list_topics(self.address.topic, timeout=60)
        return TopicFacts(1, NEW_TOPIC)


@contextmanager
def mock_kafka() -> Iterator[str]:
    """Where a cluster of one mock broker listens, in this process."""
    settings = {"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0}
    owner = confluent_kafka.Producer({**settings, **Troubles().settings})
    brokers = owner.list_topics(timeout=60).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    owner.purge()

"""Logs in topics, on librdkafka's own mock cluster or on a real broker.

The mock uses an offset for each transaction marker, as Kafka does. But it shows aborted records to
every reader, has no topic settings or ids, gives each topic four partitions, and its markers have
no checksum. So it proves nothing about transactions. This module must not know what a test claims.
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
    """The address of a topic that does not exist yet."""
    return f"topic://{bootstrap}/log-{next(_numbers)}"


def producer(address: str, **settings: str) -> Any:
    """A plain producer for the cluster of ``address``, without log output."""
    servers = parse_address(address).servers
    quiet = {**Troubles().settings, "bootstrap.servers": servers}
    return confluent_kafka.Producer(
        {**quiet, **{k.replace("_", "."): v for k, v in settings.items()}}
    )


class MockedCluster(TopicCluster):
    """The mock, with topics that look as a writer creates them."""

    def __init__(self, address: str) -> None:
        super().__init__(parse_address(address), {"check.crcs": "false"})

    def facts(self) -> TopicFacts:
        producer(str(self.address)).list_topics(self.address.topic, timeout=60)
        return TopicFacts(1, NEW_TOPIC)

    def id(self) -> str:
        return "the id of every topic"


@contextmanager
def mock_kafka() -> Iterator[str]:
    """The bootstrap address of a cluster of one mock broker in this process."""
    settings = {"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0}
    owner = confluent_kafka.Producer({**settings, **Troubles().settings})
    brokers = owner.list_topics(timeout=60).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    owner.purge()

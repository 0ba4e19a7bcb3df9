"""A topic with audit lines on a real Kafka.

This module must not know who reads it.
"""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from metalog.kafka_client import Troubles
from metalog.log.topic.address import parse_address
from metalog.log.topic.cluster import TopicCluster
from tests.support.kafka.new_topic import make_topic
from tests.support.kafka.topic_logs import new_address, producer


class AuditTopic:
    """A new topic, with ``settings`` by Kafka's names, with ``_`` in place of dots."""

    def __init__(self, bootstrap: str, partitions: int = 1, **settings: str) -> None:
        self.address = new_address(bootstrap).replace("/log-", "/audit-")
        self.name = parse_address(self.address).topic
        self._admin = AdminClient({"bootstrap.servers": bootstrap, **Troubles().settings})
        self._producer = producer(self.address)
        self.make(partitions, **settings)

    def make(self, partitions: int = 1, **settings: str) -> None:
        config = {key.replace("_", "."): value for key, value in settings.items()}
        make_topic(self._admin, NewTopic(self.name, partitions, config=config))

    def delete(self) -> None:
        self._admin.delete_topics([self.name])[self.name].result(60)

    def send(self, value: str | None, key: str | None = "b1", **more: Any) -> int:
        """Send a record, by default to partition 0; returns the offset."""
        offsets: list[int] = []
        self._producer.produce(
            self.name,
            value,
            key,
            **{"partition": 0, **more},
            on_delivery=lambda error, message: offsets.append(message.offset()),
        )
        assert self._producer.flush(60) == 0
        return offsets[0]

    def abort(self, value: str) -> None:
        """Write a record in a transaction, and abort it."""
        cluster = TopicCluster(parse_address(self.address), {})
        before = cluster.ends().stable
        sender = producer(self.address, transactional_id=self.name)
        sender.init_transactions(60)
        sender.begin_transaction()
        sender.produce(self.name, value, "b1", partition=0)
        sender.flush(60)
        sender.abort_transaction(60)
        deadline = time.monotonic() + 60
        while cluster.ends().stable == before:
            assert time.monotonic() < deadline, "the mark does not come"

    def forget(self, before: int) -> None:
        """Delete the records of partition 0 below that offset, as retention does."""
        place = TopicPartition(self.name, 0, before)
        self._admin.delete_records([place])[place].result(60)

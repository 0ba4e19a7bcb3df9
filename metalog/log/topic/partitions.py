"""Reads a topic by ranges of offsets; the topic can have several partitions.

The topic has lines of Kafka's authorizer log. The reader never waits for new messages, and reports
deleted messages. This module must not know what a record means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Final, NamedTuple

from metalog.errors import InvalidSource
from metalog.log.topic.address import TopicAddress
from metalog.log.topic.cluster import TIMEOUT_S, TopicCluster, TopicEnds, watermarks
from metalog.log.topic.records import Stored

_COMPACT: Final = "compact"


class Deleted(NamedTuple):
    """The messages from offset ``start`` up to ``end`` were deleted; their content is unknown."""

    start: int
    end: int


class PartitionedTopic:
    """The topic at ``address``; ``settings`` are librdkafka's, and can contain secrets.

    Methods raise ``InvalidSource`` if the topic does not exist, or if its cluster refuses a request
    or does not answer in time.
    """

    def __init__(self, address: TopicAddress, settings: Mapping[str, str]) -> None:
        self.address = address
        self._settings = settings

    def __repr__(self) -> str:
        return f"PartitionedTopic({self.address})"

    def check(self) -> None:
        """Raise ``InvalidSource`` if the topic does not exist or is compacted."""
        facts = self._cluster().facts()
        if facts is None:
            raise InvalidSource(f"{self.address}: there is no such topic")
        if _COMPACT in facts.settings.get("cleanup.policy", ""):
            raise InvalidSource(
                f"{self.address}: the topic is compacted, which removes records; use"
                " a topic with cleanup.policy=delete"
            )

    def id(self) -> str:
        return self._cluster().id()

    def ends(self) -> dict[int, TopicEnds]:
        topic = self.address.topic
        with self._cluster().consuming() as consumer:
            found = consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic]
            ends = {each: watermarks(consumer, self._at(each)) for each in sorted(found.partitions)}
        if not ends:
            self.check()
        return ends

    def read(self, partition: int, start: int, end: int) -> Iterator[Stored | Deleted]:
        """The messages and deleted ranges from offset ``start`` up to ``end``.

        ``end`` must not be above the last stable offset.
        """
        cluster = self._cluster(partition)
        while start < end:
            first = min(cluster.ends().start, end)
            if first > start:
                yield Deleted(start, first)
                start = first
                continue
            with closing(cluster.messages(start)) as messages:
                try:
                    yield from messages.until(end)
                    return
                except InvalidSource:
                    start = messages.position
                    if cluster.ends().start <= start:
                        raise

    def _cluster(self, partition: int = 0) -> TopicCluster:
        return TopicCluster(self._at(partition), self._settings)

    def _at(self, partition: int) -> TopicAddress:
        return self.address._replace(partition=partition)

"""Creates topics on a real Kafka, and waits until its broker knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.suite.waiting import eventually

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, NewTopic


def make_topic(admin: AdminClient, topic: NewTopic) -> None:
    """Create a topic. The controller makes it at once; the broker knows it a moment later."""

    def is_known() -> bool:
        found = admin.list_topics(timeout=60).topics.get(topic.topic)
        return found is not None and len(found.partitions) == topic.num_partitions

    admin.create_topics([topic])[topic.topic].result(60)
    assert eventually(is_known)

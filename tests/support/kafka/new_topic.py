"""Topics of a real Kafka that who asks its broker next sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.suite.waiting import eventually

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, NewTopic


def make_topic(admin: AdminClient, topic: NewTopic) -> None:
    """Made by the controller, and known to the broker, which is a moment later."""

    def is_known() -> bool:
        found = admin.list_topics(timeout=60).topics.get(topic.topic)
        return found is not None and len(found.partitions) == topic.num_partitions

    admin.create_topics([topic])[topic.topic].result(60)
    assert eventually(is_known)

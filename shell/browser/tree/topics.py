"""``/image/topics``: topics by name and by id, with their partitions.

This module must not know how the tree is printed.
"""

from __future__ import annotations

from typing import Final

from metalog.ids import uuid_text
from metalog.image.state.topics import Partition, Topic, TopicsImage
from shell.browser.nodes import Directory, Leaf, fixed, listing
from shell.browser.tree.kafka import bracketed, uuids

_RECOVERY_STATES: Final = {0: "RECOVERED", 1: "RECOVERING"}


def kafka_topics(image: TopicsImage) -> Directory:
    return fixed(
        {
            "byName": lambda: listing(lambda: image.by_name, _topic_directory),
            "byId": lambda: listing(
                lambda: {uuid_text(uuid): topic for uuid, topic in image.by_id.items()},
                _topic_directory,
            ),
        }
    )


def _topic_directory(topic: Topic) -> Directory:
    def lines() -> dict[str, str]:
        partitions = {
            str(number): _line(partition) for number, partition in topic.partitions.items()
        }
        return {"name": topic.name, "id": uuid_text(topic.id), **partitions}

    return listing(lines, Leaf)


def _line(partition: Partition) -> str:
    state = partition.leader_recovery_state
    return (
        f"PartitionRegistration(replicas={bracketed(partition.replicas)}, "
        f"directories={uuids(partition.directories)}, isr={bracketed(partition.isr)}, "
        f"removingReplicas={bracketed(partition.removing_replicas)}, "
        f"addingReplicas={bracketed(partition.adding_replicas)}, "
        f"elr={bracketed(partition.eligible_leader_replicas)}, "
        f"lastKnownElr={bracketed(partition.last_known_elr)}, leader={partition.leader}, "
        f"leaderRecoveryState={_RECOVERY_STATES.get(state, state)}, "
        f"leaderEpoch={partition.leader_epoch}, partitionEpoch={partition.partition_epoch})"
    )

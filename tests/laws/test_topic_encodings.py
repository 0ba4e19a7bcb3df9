"""The same events in a topic, in either encoding, replay to the folder's image."""

from __future__ import annotations

import pytest

from metalog.image.metadata import MetadataImage
from metalog.log.topic.records import ENCODINGS, Assembler, Encoding, Stored, outgoing
from metalog.ports import HighWatermark
from metalog.records.frame import Undecodable
from tests.support.disk.replaying import World, world_of
from tests.support.kafka.cases import KafkaCase


def through_a_topic(world: World, encoding: Encoding) -> MetadataImage:
    """Each batch as the messages of its transaction, with the offsets of a file."""
    loader = world.loader(world.base_for(world.end))
    loader.handle(HighWatermark(world.end))
    follows = loader.position
    assembler = Assembler("topic", follows)
    for batch in world.after(follows):
        for offset, (key, value, headers) in enumerate(
            outgoing(batch, encoding, follows), batch.base_offset
        ):
            message = Stored(offset, batch.max_timestamp, key, value, headers)
            for event in assembler.add(message):
                loader.handle(event)
        follows = batch.next_offset
    return loader.image


def is_readable(world: World) -> bool:
    return not any(
        isinstance(message, Undecodable) for batch in world.batches for message in batch.messages()
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_both_encodings_replay_to_the_same_image(kafka_case: KafkaCase, encoding: Encoding) -> None:
    world = world_of(kafka_case)
    if kafka_case.is_invalid or not is_readable(world):
        return
    assert through_a_topic(world, encoding) == world.image()

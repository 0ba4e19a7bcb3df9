"""A snapshot at offset k and the log from k equal the whole log; an image equals its records."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

from metalog.ids import SnapshotId
from metalog.image.delta import MetadataDelta
from metalog.image.metadata import EMPTY, MetadataImage
from metalog.loader import Loader
from metalog.ports import Appended, HighWatermark
from metalog.records.batch import Batch
from metalog.records.checkpoint import encoded_snapshot, snapshot_batches
from metalog.records.frame import encode_value
from metalog.records.masking import to_json
from tests.support.disk.replaying import world_of
from tests.support.kafka.cases import KafkaCase


def replayed(image: MetadataImage) -> MetadataImage:
    delta = MetadataDelta(EMPTY)
    delta.replay_all(enumerate(message for message, _ in image.write()))
    return delta.apply(image.provenance)


def as_snapshot(image: MetadataImage) -> Iterator[Batch]:
    """By records and by their encoded values, which are the same bytes."""
    _, epoch, timestamp = image.provenance
    about = {"epoch": epoch, "timestamp": timestamp, "last_contained_timestamp": timestamp}
    batches = list(snapshot_batches(image.write(), **about))
    assert list(encoded_snapshot(image.write_values(), **about)) == batches
    return iter(batches)


def test_a_snapshot_of_kafkas_and_the_log_after_it_are_the_log_alone(kafka_case: KafkaCase) -> None:
    world = world_of(kafka_case)
    whole = {} if kafka_case.is_invalid else {world.end: world.image()}
    for snapshot in world.snapshots:
        if snapshot.end_offset < world.start:
            continue
        oldest = world.base_for(snapshot.end_offset)
        assert world.image_at(snapshot.end_offset, snapshot) == world.image_at(
            snapshot.end_offset, oldest
        )
        for end, image in whole.items():
            assert world.image_at(end, snapshot) == image, f"from {snapshot}"


def test_a_snapshot_of_ours_at_any_offset_and_the_log_after_it_are_the_log_alone(
    kafka_case: KafkaCase,
) -> None:
    world = world_of(kafka_case)
    if kafka_case.is_invalid:
        return
    whole = world.image()
    base = world.base_for(world.end)
    offsets = range((0 if base is None else base.end_offset) + 1, world.end + 1)
    some = (
        offsets
        if len(offsets) < 200
        else sorted(random.Random(2).sample(offsets, 20 if world.end < 5000 else 4))
    )
    for offset, image in zip(some, world.images_at(some, base), strict=True):
        if image == EMPTY:
            continue
        end, epoch, _ = image.provenance
        loader = Loader(tolerant=world.tolerant)
        loader.load_snapshot(SnapshotId(end, epoch), as_snapshot(image))
        loader.handle(HighWatermark(world.end))
        for batch in world.after(loader.position):
            loader.handle(Appended(batch))
        assert loader.image == whole, f"from {offset}"


def test_an_image_is_the_replay_of_its_records(kafka_case: KafkaCase) -> None:
    world = world_of(kafka_case)
    if kafka_case.is_invalid:
        return
    base = world.base_for(world.end)
    begin = 0 if base is None else base.end_offset
    some = {world.end, *random.Random(3).sample(range(begin, world.end), 5)}
    for image in world.images_at(some, base):
        assert replayed(image) == image
        for message, version in image.write():
            assert encode_value(message, version)


def test_our_records_are_those_of_kafkas_own_snapshot(kafka_case: KafkaCase) -> None:
    """Same records and versions; only the order within a subject differs, and Kafka 4 no longer
    writes the state of a migration from ZooKeeper."""
    world = world_of(kafka_case)
    for snapshot in world.snapshots:
        name = f"snapshot-{snapshot}.records.jsonl"
        if snapshot.end_offset < world.start or not kafka_case.expects(name):
            continue
        image = world.image_at(snapshot.end_offset, world.base_for(snapshot.end_offset))
        ours = Counter(
            _frozen((message.TYPE_NAME, version, to_json(message, version)))
            for message, version in image.write()
        )
        theirs = Counter(
            _frozen((line["type"], line["version"], line["data"]))
            for line in kafka_case.json_lines(name)
            if "type" in line and line["type"] != "ZK_MIGRATION_STATE_RECORD"
        )
        assert ours == theirs


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return frozenset((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return (
            frozenset(Counter(map(_frozen, value)).items())
            if _is_unordered(value)
            else (tuple(map(_frozen, value)))
        )
    return value


def _is_unordered(value: Any) -> bool:
    """Listeners, features and quota entities: maps in Kafka, lists in its records."""
    return bool(value) and all(isinstance(item, dict) for item in value)

"""The image is the same for every division of the batches into deltas."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalog.ids import Uuid
from metalog.image.metadata import MetadataImage
from metalog.loader import Loader
from metalog.ports import Appended, HighWatermark, LogEvent
from metalog.records.batch import Batch, build_batch
from metalog.records.messages import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    NoOpRecord,
    RemoveAccessControlEntryRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from tests.support.disk.replaying import World, world_of
from tests.support.kafka.cases import KafkaCase

FEW = (40, 5)
"""The number of sampled cuts of a long log, and of a very long one."""


def marked(world: World, marks: Sequence[int]) -> MetadataImage:
    """The image when the high-water mark stops at each of ``marks``."""
    loader = world.loader(world.base_for(world.end))
    batches = list(world.after(loader.position))
    for mark in (*sorted(marks), world.end):
        loader.handle(HighWatermark(mark))
        while batches and batches[0].base_offset < mark:
            loader.handle(Appended(batches.pop(0)))
    return loader.image


def places(world: World) -> range:
    base = world.base_for(world.end)
    return range((0 if base is None else base.end_offset) + 1, world.end)


@pytest.mark.once
def test_every_single_cut(kafka_case: KafkaCase) -> None:
    world = world_of(kafka_case)
    if kafka_case.is_invalid:
        return
    whole = world.image()
    cuts = places(world)
    for mark in cuts if len(cuts) < 300 else random.Random(1).sample(cuts, FEW[len(cuts) > 5000]):
        assert marked(world, [mark]) == whole, f"cut at {mark}"


def test_many_cuts_at_once(kafka_case: KafkaCase) -> None:
    world = world_of(kafka_case)
    if kafka_case.is_invalid:
        return
    whole = world.image()
    cuts = places(world)
    if len(cuts) < 1000:
        assert marked(world, cuts) == whole
    for seed in range(3 if len(cuts) < 5000 else 1):
        some = random.Random(seed).sample(cuts, min(len(cuts), 50))
        assert marked(world, some) == whole, f"seed {seed}"


def test_the_mark_after_the_batches(kafka_case: KafkaCase) -> None:
    """All batches wait in the buffer, and are applied at once."""
    world = world_of(kafka_case)
    if kafka_case.is_invalid:
        return
    loader = world.loader(world.base_for(world.end))
    for batch in world.after(loader.position):
        loader.handle(Appended(batch))
    loader.handle(HighWatermark(world.end))
    assert loader.image == world.image()


class Keeper:
    """Keeps each image with its state at the time."""

    def __init__(self) -> None:
        self.kept: list[tuple[MetadataImage, list[object]]] = []

    def publish(self, delta: object, image: MetadataImage, manifest: object) -> None:
        self.kept.append((image, list(image.write())))


def test_no_image_changes_once_it_was_published(kafka_case: KafkaCase) -> None:
    world = world_of(kafka_case)
    cuts = places(world)
    if kafka_case.is_invalid or len(cuts) > 1000:
        return
    keeper = Keeper()
    loader = world.loader(world.base_for(world.end), [keeper])
    for batch in world.after(loader.position):
        loader.handle(HighWatermark(batch.next_offset))
        loader.handle(Appended(batch))
    assert keeper.kept
    for image, said in keeper.kept:
        assert list(image.write()) == said


IDS = [Uuid(bytes([number]) * 16) for number in range(4)]


def _acl(number: int, name: str) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(IDS[number], 2, name, 3, "User:a", "*", 3, 3)


SMALL = st.sampled_from(range(4))
STEP = st.one_of(
    st.tuples(st.just("acl"), SMALL, st.sampled_from("ab")),
    st.tuples(st.just("remove"), SMALL),
    st.tuples(st.just("user"), SMALL),
    st.tuples(st.just("no user"), SMALL),
    st.tuples(st.just("topic"), SMALL),
    st.tuples(st.just("config"), SMALL),
    st.tuples(st.just("no topic"), SMALL),
    st.tuples(st.just("begin")),
    st.tuples(st.just("end")),
    st.tuples(st.just("abort")),
    st.tuples(st.just("nothing")),
)


class Script:
    """Turns any steps into records that a controller could write."""

    def __init__(self) -> None:
        self.acls: set[int] = set()
        self.topics: set[int] = set()
        self.saved: tuple[set[int], set[int]] | None = None

    def record(self, step: tuple[object, ...]) -> object:
        kind, number = step[0], step[1] if len(step) > 1 else 0
        assert isinstance(number, int)
        if kind == "acl":
            self.acls.add(number)
            return _acl(number, str(step[2]))
        if kind == "remove" and number in self.acls:
            self.acls.remove(number)
            return RemoveAccessControlEntryRecord(IDS[number])
        return self._user_or_topic(kind, number)

    def _user_or_topic(self, kind: object, number: int) -> object:
        if kind == "user":
            return UserScramCredentialRecord(f"u{number}", 1 + number % 2, b"s", b"k", b"v", 4096)
        if kind == "no user":
            return RemoveUserScramCredentialRecord(f"u{number}", 1 + number % 2)
        return self._topic(kind, number)

    def _topic(self, kind: object, number: int) -> object:
        if kind == "topic" and number not in self.topics:
            self.topics.add(number)
            return TopicRecord(f"t{number}", IDS[number])
        if kind == "config":
            return ConfigRecord(2, f"t{number}", "retention.ms", "1")
        if kind == "no topic" and number in self.topics:
            self.topics.remove(number)
            return RemoveTopicRecord(IDS[number])
        return self._marker(kind)

    def _marker(self, kind: object) -> object:
        if kind == "begin" and self.saved is None:
            self.saved = set(self.acls), set(self.topics)
            return BeginTransactionRecord()
        if kind == "end" and self.saved is not None:
            self.saved = None
            return EndTransactionRecord()
        if kind == "abort" and self.saved is not None:
            (self.acls, self.topics), self.saved = self.saved, None
            return AbortTransactionRecord()
        return NoOpRecord()


def _batches(records: Sequence[object], sizes: Sequence[int]) -> list[Batch]:
    batches, at, turn = [], 0, 0
    while at < len(records):
        size = sizes[turn % len(sizes)]
        part = [(record, 0) for record in records[at : at + size]]
        batches.append(build_batch(at, 1, 1000, part))  # type: ignore[arg-type]
        at, turn = at + len(part), turn + 1
    return batches


def _replayed(events: Sequence[LogEvent]) -> MetadataImage:
    loader = Loader()
    for event in events:
        loader.handle(event)
    return loader.image


@settings(max_examples=300, deadline=None)
@given(
    st.lists(STEP, min_size=1, max_size=30),
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.lists(st.integers(0, 30), max_size=5),
    st.data(),
)
def test_any_records_in_any_batches_with_any_marks(
    steps: list[tuple[object, ...]], sizes: list[int], marks: list[int], data: st.DataObject
) -> None:
    script = Script()
    records = [script.record(step) for step in steps]
    end = len(records)
    one_by_one = _replayed([HighWatermark(end), *map(Appended, _batches(records, [1]))])
    events: list[LogEvent] = [*map(Appended, _batches(records, sizes))]
    for mark in marks:
        place = data.draw(st.integers(0, len(events)))
        events.insert(place, HighWatermark(min(mark, end)))
    assert _replayed([*events, HighWatermark(end)]) == one_by_one

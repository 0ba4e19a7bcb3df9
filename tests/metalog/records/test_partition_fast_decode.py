"""Runs of partition changes say what the general decoder says of each record, byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.errors import CorruptLog
from metalog.ids import Uuid
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Provenance
from metalog.image.metadata import EMPTY
from metalog.records.batch import Batch, build_batch
from metalog.records.fast_decode import partition_fast_decode
from metalog.records.fast_decode.acl_fast_decode import messages_of, numbered
from metalog.records.fast_decode.partition_fast_decode import MAX_CACHED, PartitionChangeRun
from metalog.records.messages import (
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

TOPICS = [Uuid(bytes([number]) * 16) for number in (1, 2, 3)]

leaders = st.integers(-2, 3) | st.integers(-(2**31), 2**31 - 1)
replicas = st.lists(leaders, max_size=8).map(tuple)
fields: dict[str, st.SearchStrategy[Any]] = {
    "partition_id": st.integers(0, 2),
    "topic_id": st.sampled_from(TOPICS),
    "isr": st.none() | replicas,
    "leader": leaders,
}
others: dict[str, st.SearchStrategy[Any]] = {
    "leader_recovery_state": st.sampled_from((-1, 0, 1)),
    "removing_replicas": st.none() | replicas,
    "eligible_leader_replicas": st.none() | replicas,
    "unknown_tagged_fields": st.sampled_from(((), ((9, b"x"),))),
}
plain = st.fixed_dictionaries(fields).map(lambda each: PartitionChangeRecord(**each))
other = st.fixed_dictionaries(fields | others).map(lambda each: PartitionChangeRecord(**each))
rest = st.sampled_from(
    [
        NoOpRecord(),
        RemoveTopicRecord(TOPICS[1]),
        TopicRecord(TOPICS[1].hex(), TOPICS[1]),
        PartitionRecord(1, TOPICS[1], replicas=(4, 5), isr=(4,), leader=4, leader_epoch=9),
    ]
)
changes = st.lists(plain | other | rest, min_size=1, max_size=12)


def batch_of(messages: Sequence[Any], versions: Sequence[int] = (2,)) -> Batch:
    pairs = [
        (each, min(versions[at % len(versions)], max(each.VERSIONS)))
        for at, each in enumerate(messages)
    ]
    return build_batch(7, 1, 1000, pairs)


def decoded(batch: Batch, *, fast: bool) -> list[Any] | str:
    try:
        found = batch.messages() if fast else [entry.message for entry in batch.entries()]
    except CorruptLog as fault:
        return str(fault)
    return list(found)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 8191, 8192, 8194])
def test_plain_changes_are_one_run(count: int) -> None:
    forms = [
        PartitionChangeRecord(2, TOPICS[0], isr=(1, 2, 3), leader=2),
        PartitionChangeRecord(1, TOPICS[1], isr=(-1,)),
        PartitionChangeRecord(0, TOPICS[2], leader=-1),
        PartitionChangeRecord(0, TOPICS[2], isr=(1, 2), leader=7),
        PartitionChangeRecord(0, TOPICS[2]),
    ]
    messages = [forms[at % len(forms)] for at in range(count)]
    [run] = batch_of(messages, (2, 1, 0, 2, 1, 0, 1)).parts()
    assert isinstance(run, PartitionChangeRun)
    assert run.messages() == messages


def test_every_wrong_bit_is_seen_as_by_the_general_decoder() -> None:
    batch = batch_of(
        [
            PartitionChangeRecord(0, TOPICS[0], isr=(1, 2), leader=1),
            PartitionChangeRecord(1, TOPICS[1], isr=(1, 2), leader=2),
            PartitionChangeRecord(2, TOPICS[2], leader=5),
            PartitionChangeRecord(2, TOPICS[2], isr=(1, 2, 3)),
        ]
    )
    for bit in range(8 * len(batch.data)):
        data = bytearray(batch.data)
        data[bit // 8] ^= 1 << bit % 8
        wrong = batch._replace(data=bytes(data))
        assert decoded(wrong, fast=True) == decoded(wrong, fast=False)


def test_its_caches_have_a_bound() -> None:
    messages = [
        PartitionChangeRecord(0, TOPICS[0], isr=(at, at << 8), leader=at << 16)
        for at in range(MAX_CACHED + 10)
    ]
    assert batch_of(messages).messages() == messages
    caches: list[Any] = [partition_fast_decode._replicas, partition_fast_decode._fields]
    assert max([len(each) for each in caches]) <= MAX_CACHED


@given(changes)
def test_runs_change_an_image_as_their_records_do(messages: list[Any]) -> None:
    """The third topic and two partitions are not there, so some changes are refused; an image that
    was made before stays as it is."""
    first = MetadataDelta(EMPTY)
    for topic_id in TOPICS[:2]:
        first.replay(TopicRecord(topic_id.hex(), topic_id))
        first.replay(PartitionRecord(0, topic_id, replicas=(1, 2), leader_epoch=0))
    first.replay(PartitionRecord(1, TOPICS[0], replicas=(3,)))
    before = first.apply(Provenance(7, 1, 0))
    kept = before.topics.by_id[TOPICS[0]].partitions[0]
    kept_fields = tuple(kept)

    def after(records: Sequence[tuple[int, Any]]) -> tuple[Any, list[Any]]:
        refused: list[Any] = []
        delta = MetadataDelta(before)
        half = len(records) // 2
        for part in (records[:half], records[half:]):
            delta.replay_all(part, lambda at, each, why: refused.append((at, each, str(why))))
            image = delta.apply(Provenance(8, 1, 0))
        return image, refused

    batch = batch_of(messages)
    by_records = after(list(enumerate(messages, 7)))
    assert after(list(numbered(batch.parts(), 7))) == by_records
    assert tuple(kept) == kept_fields
    assert messages_of(batch.parts()) == messages

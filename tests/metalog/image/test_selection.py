"""A replay of some subjects equals a full replay of these subjects."""

from __future__ import annotations

from typing import Any

import pytest

from metalog.errors import CorruptLog, MetalogError
from metalog.image.manifest import Provenance
from metalog.image.policy import MARKERS
from metalog.image.selection import AUTHORIZATION, ImageSelection
from metalog.image.subjects import SUBJECTS
from metalog.image.unread_subject import UnreadSubject
from metalog.loader import Loader
from metalog.ports import Appended, HighWatermark
from metalog.records.batch import Batch, assemble_batch
from metalog.records.frame import encode_value
from metalog.records.messages import (
    ConfigRecord,
    PartitionChangeRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from metalog.records.messages.registry import METADATA, message_type
from metalog.records.record import RawRecord
from metalog_sources.replay import Replayed, replay_source
from metalog_sources.source import open_source
from tests.support.disk.tiny_log import BEGIN, END, ace, batch, leader_change, values
from tests.support.kafka.cases import KafkaCase, kafka_cases

TOPIC = TopicRecord("orders", b"o" * 16)
CHANGE = PartitionChangeRecord(partition_id=0, topic_id=TOPIC.topic_id, leader=1)


def replayed(case: KafkaCase, selection: ImageSelection | None) -> Replayed | str:
    try:
        source = open_source(str(case.log_dir), environ={})
        return replay_source(source, tolerant=True, selection=selection)
    except MetalogError as error:
        return str(error)


@pytest.mark.parametrize("case", kafka_cases(), ids=lambda case: case.name)
def test_logs_that_kafka_wrote_have_the_same_acls_users_tokens_and_topics(case: KafkaCase) -> None:
    whole, part = replayed(case, None), replayed(case, AUTHORIZATION)
    if isinstance(whole, str) or isinstance(part, str):
        assert part == whole
        return
    for subject in SUBJECTS:
        if subject.concerns_authorization or subject.name == "features":
            assert getattr(part.image, subject.name) == getattr(whole.image, subject.name)
    assert part.image.topics.by_name.keys() == whole.image.topics.by_name.keys()
    assert part.image.provenance == whole.image.provenance
    assert repr(part.doubts) == repr(whole.doubts)
    assert (part.offset, part.ready, part.snapshot) == (whole.offset, whole.ready, whole.snapshot)


def loaded(*batches, strict: bool = True, selection: ImageSelection = AUTHORIZATION) -> Loader:
    loader = Loader(selection=selection, tolerant=not strict)
    loader.handle(HighWatermark(batches[-1].next_offset))
    for each in batches:
        loader.handle(Appended(each))
    return loader


def test_a_change_of_a_partition_that_is_not_there_is_not_looked_at() -> None:
    loader = loaded(batch(0, ace(1), CHANGE, ace(2)))
    assert len(loader.image.acls) == 2
    assert loader.image.provenance == Provenance(3, 1, 1000)


def longer(value: bytes) -> bytes:
    """``value`` with a frame version of two bytes, which Kafka reads, too."""
    return bytes((value[0] | 0x80, 0)) + value[1:]


def with_key(value: bytes) -> Batch:
    """A record that Kafka's reader refuses, and that a tolerant one reads."""
    return assemble_batch(2, 1, 1000, [RawRecord(0, 0, 0, b"", value, ())])


@pytest.mark.parametrize(
    "selection", [AUTHORIZATION, ImageSelection((), partitions=False)], ids=["names", "no topics"]
)
@pytest.mark.parametrize(
    "kind",
    [kind for key in METADATA if (kind := message_type(key)) and kind not in MARKERS],
    ids=lambda kind: kind.TYPE_NAME,
)
def test_a_record_has_one_effect_however_it_is_written(
    kind: Any, selection: ImageSelection
) -> None:
    fields = {"topic_id": TOPIC.topic_id} if "topic_id" in kind._fields else {}
    value = encode_value(kind(**fields), kind.VERSIONS[-1])
    before = batch(0, TOPIC, ace(1))
    plain, *others = (
        loaded(before, each, strict=False, selection=selection).image
        for each in (values(2, value), values(2, longer(value)), with_key(value))
    )
    assert others == [plain, plain]


def test_a_transaction_of_unread_records_begins_and_ends() -> None:
    loader = loaded(batch(0, ace(1)), batch(1, BEGIN, CHANGE, ace(2)), batch(4, CHANGE, END))
    assert not loader.is_transaction_open
    assert len(loader.image.acls) == 2


def test_a_removed_topic_leaves_configurations_unread() -> None:
    config = ConfigRecord(2, "orders", "retention.ms", "1")
    loader = loaded(batch(0, TOPIC, config, ace(1), RemoveTopicRecord(TOPIC.topic_id)))
    assert not loader.image.topics.by_name


@pytest.mark.parametrize(
    "value",
    [b"", b"\x01\x12", b"\x02\x05\x00", b"\x01\x12\x09" + bytes(30)],
    ids=["empty", "no version", "frame version 2", "a version of an ACL that Kafka has not"],
)
def test_a_record_that_may_concern_authorization_stops_a_strict_loader(value: bytes) -> None:
    with pytest.raises(CorruptLog):
        loaded(batch(0, ace(1)), values(1, value))


def test_a_type_that_nobody_knows_is_counted_as_ever() -> None:
    loader = loaded(batch(0, ace(1)), values(1, b"\x01\x7e\x00" + bytes(4)))
    assert loader.skipped["record type 126"].records == 1


def test_control_records_tell_the_leader_as_ever() -> None:
    loader = loaded(leader_change(0, 1), batch(1, ace(1)))
    assert loader.image.provenance.offset == 2


@pytest.mark.parametrize("name", ["cluster", "configs", "client_quotas", "producer_ids"])
def test_a_subject_that_was_not_read_refuses_every_use(name: str) -> None:
    subject = getattr(loaded(batch(0, ace(1))).image, name)
    assert isinstance(subject, UnreadSubject)
    with pytest.raises(AttributeError, match=f"the image has no {name}: "):
        subject.write(30)


def test_partitions_that_were_not_read_refuse_every_use() -> None:
    [topic] = loaded(batch(0, TOPIC, ace(1))).image.topics.by_name.values()
    with pytest.raises(AttributeError, match="the image has no partitions: "):
        topic.partitions.items()
    for use in (len, list, bool, lambda unread: unread[0], lambda unread: 0 in unread):
        with pytest.raises(AttributeError, match="the image has no partitions: "):
            use(topic.partitions)


def test_no_snapshot_is_made_of_an_image_that_lacks_subjects() -> None:
    with pytest.raises(AttributeError, match="the replay did not read this part"):
        list(loaded(batch(0, ace(1))).image.write())


def test_what_concerns_authorization_is_in_every_selection() -> None:
    selection = ImageSelection((), partitions=False)
    for subject in SUBJECTS:
        is_unread = isinstance(getattr(selection.empty, subject.name), UnreadSubject)
        assert is_unread is not subject.concerns_authorization

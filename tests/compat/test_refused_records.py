"""Replay stops at a record that Kafka's reader refuses whatever its type: one with a key, headers
or its own time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from metalog.errors import UnreadableRecord
from metalog.log.quorum.voters import last_voters
from metalog.records.batch import Batch, assemble_batch
from metalog.records.control import encode_control
from metalog.records.message import Message
from metalog.records.messages import (
    BrokerRegistrationChangeRecord,
    LeaderChangeMessage,
    NoOpRecord,
    TopicRecord,
)
from metalog.records.record import Header, RawRecord
from tests.support.disk.tiny_log import ace, batch, ids, loaded, raw, uuid
from tests.support.kafka.raft_reader import kafka_reads
from tests.support.kafka.tools import KafkaTools

ACL = raw(ace(1))
HEADER = (Header("h", b"v"),)
Form = Callable[[bytes], RawRecord]

THROWS: dict[str, Form] = {
    "a key": lambda value: RawRecord(0, 0, 0, b"k", value, ()),
    "an empty key": lambda value: RawRecord(0, 0, 0, b"", value, ()),
    "a header": lambda value: RawRecord(0, 0, 0, None, value, HEADER),
    "a later time": lambda value: RawRecord(0, 1, 0, None, value, ()),
    "an earlier time": lambda value: RawRecord(0, -1, 0, None, value, ()),
    "no value": lambda value: RawRecord(0, 0, 0, None, None, ()),
    "an empty value": lambda value: RawRecord(0, 0, 0, None, b"", ()),
}
VALUES = {
    "an ACL": ACL,
    "no ACL": raw(NoOpRecord()),
    "a broker": raw(BrokerRegistrationChangeRecord(1, 1)),
}
LEADER = encode_control(LeaderChangeMessage(0, 7), 0)
CONTROL = {
    "a header": RawRecord(0, 0, 0, *LEADER, HEADER),
    "a header without a value": RawRecord(0, 0, 0, *LEADER, (Header("h", None),)),
    "a later time": RawRecord(0, 1, 0, *LEADER, ()),
    "an earlier time": RawRecord(0, -1, 0, *LEADER, ()),
}


def written(record: RawRecord, *, is_control: bool = False) -> Batch:
    return assemble_batch(0, 1, 1000, [record], is_control=is_control)


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("form", THROWS.values(), ids=THROWS)
def test_a_record_that_kafka_refuses_stops_replay(
    kafka_tools: KafkaTools, form: Form, value: bytes
) -> None:
    """No controller wrote such a record. A tool shows the readable part."""
    record = form(value)
    check_stops(kafka_tools, written(record), shown={1} if record.value == ACL else set())


@pytest.mark.parametrize("record", CONTROL.values(), ids=CONTROL)
def test_a_control_record_that_kafka_refuses_stops_replay(
    kafka_tools: KafkaTools, record: RawRecord
) -> None:
    """Behind it the set of voters is unknown."""
    refused = written(record, is_control=True)
    check_stops(kafka_tools, refused)
    voters = last_voters([refused])
    assert voters is not None
    assert (voters.ids, "cannot be read" in voters.why) == ((), True)


def check_stops(
    kafka_tools: KafkaTools, refused: Batch, shown: frozenset[int] | set[int] = frozenset()
) -> None:
    assert not kafka_reads(kafka_tools, refused)
    with pytest.raises(UnreadableRecord) as stopped:
        loaded(refused, mark=1)
    assert stopped.value.offset == 0
    tolerant = loaded(refused, batch(1, ace(2)), mark=2, tolerant=True)
    assert [(doubt.records, doubt.offset) for doubt in tolerant.doubts.values()] == [(1, 0)]
    assert ids(tolerant.image) == {2} | shown


@pytest.mark.parametrize("record", [NoOpRecord(), TopicRecord("t", uuid(8))])
def test_a_version_that_kafka_does_not_know_is_read(
    kafka_tools: KafkaTools, record: Message
) -> None:
    value = raw(record)
    later = written(RawRecord(0, 0, 0, None, value[:2] + b"\x09" + value[3:], ()))
    assert kafka_reads(kafka_tools, later)
    loader = loaded(later, batch(1, ace(2)), mark=2)
    assert (ids(loader.image), loader.skipped) == ({2}, {})


def test_attributes_and_a_plain_record_are_read(kafka_tools: KafkaTools) -> None:
    for attributes in (0, 1, 0x7F):
        plain = written(RawRecord(attributes, 0, 0, None, ACL, ()))
        assert kafka_reads(kafka_tools, plain)
        assert ids(loaded(plain, mark=1).image) == {1}

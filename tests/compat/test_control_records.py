"""Replay stops at each control record at which Kafka's reader throws, and only there."""

from __future__ import annotations

import struct

import pytest

from metalog.errors import UnreadableRecord
from metalog.log.quorum.voters import last_voters
from metalog.records.batch import Batch, assemble_batch, build_batch
from metalog.records.control import encode_control
from metalog.records.messages import KRaftVersionRecord, LeaderChangeMessage, VotersRecord
from metalog.records.messages.leader_change_message import Voter
from metalog.records.record import RawRecord
from tests.support.disk.tiny_log import ace, batch, loaded
from tests.support.kafka.raft_reader import kafka_reads
from tests.support.kafka.tools import KafkaTools


def key(type_: int, version: int = 0) -> bytes:
    return struct.pack(">hh", version, type_)


LEADER = encode_control(LeaderChangeMessage(0, 7, (Voter(7),), (Voter(7),)), 0)[1]
NOBODY = encode_control(LeaderChangeMessage(0, 7), 0)[1]
KRAFT = encode_control(KRaftVersionRecord(0, 1), 0)[1]
VOTERS = encode_control(VotersRecord(), 0)[1]

THROWS = {
    "no key": (None, LEADER),
    "an empty key": (b"", LEADER),
    "a key of two bytes": (b"\0\0", LEADER),
    "a key of three bytes": (b"\0\0\0", LEADER),
    "a key of version -1": (key(2, -1), LEADER),
    "ABORT": (key(0), bytes(6)),
    "COMMIT": (key(1), bytes(6)),
    "type 7": (key(7), LEADER),
    "type 99": (key(99), LEADER),
    "type -1": (key(-1), LEADER),
    "no value": (key(2), None),
    "an empty value": (key(2), b""),
    "a broken LEADER_CHANGE": (key(2), LEADER[:2]),
    "a broken KRAFT_VERSION": (key(5), KRAFT[:-1]),
    "a broken KRAFT_VOTERS": (key(6), VOTERS[:2] + b"\xff"),
    "a key of version 9 and a broken body": (key(2, 9), LEADER[:2]),
}
READS = {
    "LEADER_CHANGE": (key(2), LEADER),
    "a key of version 9": (key(2, 9), LEADER),
    "a longer key": (key(2) + b"zz", LEADER),
    "LEADER_CHANGE of version 7": (key(2), b"\0\7" + NOBODY[2:]),
    "KRAFT_VERSION of version 7": (key(5), b"\0\7" + KRAFT[2:]),
}


def control(base: int, form: tuple[bytes | None, bytes | None]) -> Batch:
    records = [RawRecord(0, 0, 0, *form, ())]
    return assemble_batch(base, 1, 1000, records, is_control=True)


@pytest.mark.parametrize("form", THROWS.values(), ids=THROWS)
def test_where_kafka_throws_replay_stops(
    kafka_tools: KafkaTools, form: tuple[bytes | None, bytes | None]
) -> None:
    """A strict loader stops at the record; a tolerant one counts it, and the voters after it are
    unknown."""
    unreadable = control(1, form)
    assert not kafka_reads(kafka_tools, unreadable)
    with pytest.raises(UnreadableRecord) as stopped:
        loaded(batch(0, ace(1)), unreadable, mark=2)
    assert stopped.value.offset == 1
    tolerant = loaded(batch(0, ace(1)), unreadable, batch(2, ace(2)), mark=3, tolerant=True)
    assert [(each.records, each.offset) for each in tolerant.skipped.values()] == [(1, 1)]
    before = build_batch(0, 1, 0, [(LeaderChangeMessage(0, 7, (Voter(7),)), 0)])
    voters = last_voters([before, unreadable])
    assert voters is not None
    assert voters.ids == ()
    assert "cannot be read" in voters.why


@pytest.mark.parametrize("form", READS.values(), ids=READS)
def test_what_kafka_reads_stops_nobody(
    kafka_tools: KafkaTools, form: tuple[bytes | None, bytes | None]
) -> None:
    read = control(1, form)
    assert kafka_reads(kafka_tools, read)
    loader = loaded(batch(0, ace(1)), read, batch(2, ace(2)), mark=3)
    assert len(loader.image.acls) == 2
    assert set(loader.skipped) <= {"LEADER_CHANGE", "KRAFT_VERSION"}

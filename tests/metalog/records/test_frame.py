"""The metadata frame and control records: an undecodable one has a reason, and raises nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.errors import InvalidRequest
from metalog.records import frame
from metalog.records.control import decode_control, encode_control
from metalog.records.frame import Undecodable, decode_value, encode_value
from metalog.records.messages import (
    LeaderChangeMessage,
    NoOpRecord,
    RemoveAccessControlEntryRecord,
    SnapshotFooterRecord,
)
from metalog.records.primitives.varint import write_unsigned_varint
from tests.support.worlds.message_strategies import METADATA_RECORDS, messages, versions_of

LEADER_CHANGE_KEY = bytes((0, 0, 0, 2))


@pytest.mark.parametrize(
    ("value", "reason", "api_key", "version"),
    [
        ("", "does not begin with a varint", None, None),
        ("80", "does not begin with a varint", None, None),
        ("00140000", "frame version 0", None, None),
        ("02140000", "frame version 2", None, None),
        ("01", "api key is cut short", None, None),
        ("0114", "version is cut short", 20, None),
        ("01808002000000", "larger than 32767", None, 0),
        ("0114ffff0300", "larger than 32767", 20, 65535),
        ("01c80100736f6d65", "record type 200 is unknown", 200, 0),
        ("010600", "record type 6 is unknown", 6, 0),
        ("011400", "cannot be read", 20, 0),
        ("01140000ff", "1 bytes follow", 20, 0),
        ("01140100", "no version 1", 20, 1),
        ("01120000", "cannot be read", 18, 0),
    ],
)
def test_a_value_that_is_no_message(value, reason, api_key, version):
    value = bytes.fromhex(value)
    message = decode_value(value)[1]
    assert isinstance(message, Undecodable)
    assert reason in message.reason
    assert (message.value, message.api_key, message.version) == (value, api_key, version)


def test_a_later_version_is_not_taken_for_known_but_read_as_kafka_reads_it():
    remove = RemoveAccessControlEntryRecord(bytes(range(16)))
    value = bytearray(encode_value(remove, 0))
    value[2] = 9
    version, message = decode_value(bytes(value))
    assert (version, message.version, message.lenient) == (9, 9, remove)


def test_an_undecodable_value_may_be_secret_and_is_not_shown():
    assert "secret" not in repr(decode_value(b"\x01\x0b\x00secret")[1])


@given(st.binary(max_size=60))
def test_any_value_decodes_or_is_undecodable(value):
    version, message = decode_value(value)
    assert isinstance(message, Undecodable) or version in message.VERSIONS


@given(st.sampled_from(METADATA_RECORDS), st.data())
def test_a_value_reads_as_when_its_frame_was_not_met_before(schema, data):
    version = data.draw(st.sampled_from(versions_of(schema)))
    message = data.draw(messages(schema, version))
    value = bytearray(encode_value(message, version))
    assert decode_value(bytes(value)) == (version, message)
    for _ in range(data.draw(st.integers(0, 3))):
        value[data.draw(st.integers(0, len(value) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(value[: len(value) - data.draw(st.integers(0, 3))])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame, "_decoders", {})
        expected = decode_value(damaged)
    assert repr(decode_value(damaged)) == repr(expected)


@given(st.none() | st.binary(max_size=6), st.binary(max_size=60))
def test_any_control_record_decodes_or_is_undecodable(key, value):
    version, message = decode_control(key, value)
    assert isinstance(message, Undecodable) or version in message.VERSIONS


@pytest.mark.parametrize(
    ("key", "value", "reason", "control_type"),
    [
        (None, b"", "without a type", None),
        (b"\0\0\0", b"", "without a type", None),
        (b"\0\0\0\0", b"\0\0\0\0\0\0", r"a transaction marker (ABORT)", 0),
        (b"\0\0\0\1", b"\0\0\0\0\0\0", r"a transaction marker (COMMIT)", 1),
        (b"\0\0\0\7", b"", "control type 7 is unknown", 7),
        (b"\0\0\xff\xff", b"", "control type -1 is unknown", -1),
        (b"\xff\xff\0\4", b"\0\0\0", "key has version -1", 4),
        (b"\0\0\0\4", b"", "SNAPSHOT_FOOTER cannot be read", 4),
        (b"\0\0\0\4", b"\0\0\0x", "1 bytes follow SNAPSHOT_FOOTER", 4),
        (b"\0\0\0\4", b"\0\3\0", "no version 3", 4),
    ],
)
def test_a_control_record_that_is_no_message(key, value, reason, control_type):
    message = decode_control(key, value)[1]
    assert isinstance(message, Undecodable)
    assert reason in message.reason
    assert (message.api_key, message.control_type) == (None, control_type)


def test_the_version_of_a_control_record_is_its_first_field():
    key, value = encode_control(LeaderChangeMessage(version=1, leader_id=7), 1)
    assert key == LEADER_CHANGE_KEY
    assert decode_control(key, value) == (1, LeaderChangeMessage(version=1, leader_id=7))
    with pytest.raises(InvalidRequest, match="has version 1, not 0"):
        encode_control(LeaderChangeMessage(version=1), 0)


def test_more_tagged_fields_than_anybody_has_are_not_read():
    """Each takes two bytes, and thirty times that in memory."""
    for count in (1_024, 1_025):
        size = bytearray()
        write_unsigned_varint(size, count)
        _, message = decode_value(bytes((1, 20, 0)) + bytes(size) + bytes(2 * count))
        if count == 1_024:
            assert message == NoOpRecord(unknown_tagged_fields=((0, b""),) * count)
        else:
            assert "1,025 tagged fields; at most 1,024 are read" in message.reason


def test_the_lenient_reading_of_a_control_record():
    key, _ = encode_control(SnapshotFooterRecord(), 0)
    assert decode_control(key, b"\0\x03\0")[1].lenient == SnapshotFooterRecord(version=3)


def test_a_frame_is_three_varints_and_the_body():
    assert encode_value(NoOpRecord(), 0).hex() == "01140000"

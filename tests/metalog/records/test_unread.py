"""Skipping a record gives the same result as decoding it, except for its body."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalog.errors import CorruptLog
from metalog.records.batch import Batch, assemble_batch, build_batch, decode_batch, encode_batch
from metalog.records.fast_decode.acl_fast_decode import AclRun, Part, messages_of, numbered
from metalog.records.frame import Undecodable, encode_value
from metalog.records.messages import (
    AccessControlEntryRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
)
from metalog.records.record import Header, RawRecord
from metalog.records.unread import MAX_PREFIXES, UnreadRun, UnreadTypes
from tests.support.disk.batch_files import HEADER_SIZE, with_payload
from tests.support.worlds.message_strategies import (
    METADATA_RECORDS,
    message_class,
    messages,
    versions_of,
)

TYPES = (PartitionRecord, PartitionChangeRecord, NoOpRecord)
UNREAD = UnreadTypes(TYPES)
MIXED = st.sampled_from(
    [
        (schema, version)
        for schema in METADATA_RECORDS
        if message_class(schema) in (*TYPES, AccessControlEntryRecord)
        for version in versions_of(schema)
    ]
).flatmap(lambda kind: st.tuples(messages(*kind), st.just(kind[1])))
PLAIN_CHANGE = PartitionChangeRecord(partition_id=1, topic_id=b"t" * 16, isr=(1, 2), leader=1)


def decoded(batch: Batch) -> list[object] | CorruptLog:
    try:
        return batch.messages()
    except CorruptLog as fault:
        return fault


def selected(batch: Batch) -> list[Part] | CorruptLog:
    try:
        return batch.parts(UNREAD)
    except CorruptLog as fault:
        return fault


def assert_equal_but_for_bodies(batch: Batch) -> None:
    whole, parts = decoded(batch), selected(batch)
    if isinstance(whole, CorruptLog) or isinstance(parts, CorruptLog):
        assert repr(parts) == repr(whole)
        return
    for offset, part in numbered(parts, 0):
        of_whole = whole[offset : offset + len(messages_of([part]))]
        if isinstance(part, UnreadRun):
            assert all(is_of_unread_type(each) for each in of_whole)
        else:
            assert repr(messages_of([part])) == repr(of_whole)


def is_of_unread_type(message: object) -> bool:
    """Faults in a skipped body are not found, by design; the type and its version are."""
    if isinstance(message, Undecodable):
        return any(message.api_key == each.API_KEY for each in TYPES)
    return isinstance(message, TYPES)


@given(st.lists(MIXED, min_size=1, max_size=20))
@settings(max_examples=60)
def test_all_records_of_the_unread_types_are_passed_over_and_no_others(pairs) -> None:
    batch = build_batch(0, 0, 0, pairs)
    assert_equal_but_for_bodies(batch)
    unread = {
        offset + each
        for offset, part in numbered(batch.parts(UNREAD), 0)
        if isinstance(part, UnreadRun)
        for each in range(part.record_count)
    }
    assert unread == {at for at, (message, _) in enumerate(pairs) if isinstance(message, TYPES)}


@pytest.mark.once
@given(st.data())
@settings(max_examples=300)
def test_changed_bytes_are_damage_or_not_as_if_all_were_decoded(data) -> None:
    pairs = data.draw(st.lists(MIXED, min_size=1, max_size=4))
    whole = encode_batch(build_batch(0, 0, 0, pairs))
    payload = bytearray(whole[HEADER_SIZE:])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(payload) - 1))
        payload[at] = data.draw(st.integers(0, 255) | st.sampled_from([0, 1, 0x7F, 0x80]))
    cut = data.draw(st.integers(0, 3))
    changed = with_payload(whole, bytes(payload[: len(payload) - cut]))
    assert_equal_but_for_bodies(decode_batch(changed))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x01\x05", id="no version"),
        pytest.param(b"\x02\x05\x00", id="frame version 2"),
        pytest.param(b"\x01\x05\x03" + bytes(8), id="a version that Kafka does not have"),
        pytest.param(b"\x01\x7f\x00" + bytes(8), id="a type that Kafka does not have"),
        pytest.param(b"\x01\x85\x00\x00" + bytes(8), id="a key of two bytes"),
    ],
)
def test_a_frame_that_is_not_known_is_decoded_and_so_refused(value: bytes) -> None:
    batch = assemble_batch(0, 0, 0, [RawRecord(0, 0, 0, None, value, ())])
    [message] = batch.parts(UNREAD)
    assert isinstance(message, Undecodable)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param({"timestamp_delta": 1}, id="timestamp delta"),
        pytest.param({"key": b""}, id="key"),
        pytest.param({"headers": (Header("h", b""),)}, id="header"),
    ],
)
def test_what_kafka_refuses_around_a_body_is_not_passed_over(record) -> None:
    plain = RawRecord(0, 0, 0, None, encode_value(PLAIN_CHANGE, 0), ())
    [message] = assemble_batch(0, 0, 0, [plain._replace(**record)]).parts(UNREAD)
    assert isinstance(message, Undecodable)


def test_a_record_with_a_header_does_not_change_how_the_next_like_it_is_read() -> None:
    types = UnreadTypes(TYPES)
    plain = RawRecord(0, 0, 0, None, encode_value(PLAIN_CHANGE, 0), ())
    whole = encode_batch(assemble_batch(0, 0, 0, [plain]))
    one_header_announced = with_payload(whole, whole[HEADER_SIZE:-1] + b"\x02")
    with pytest.raises(CorruptLog):
        decode_batch(one_header_announced).parts(types)
    assert decode_batch(whole).parts(types) == [UnreadRun(1)]


def test_offsets_out_of_order_are_damage() -> None:
    records = [RawRecord(0, 0, 0, None, encode_value(PLAIN_CHANGE, 0), ())] * 2
    batch = assemble_batch(0, 0, 0, records)
    with pytest.raises(CorruptLog, match="offset delta 0 where 1 must follow"):
        batch.parts(UNREAD)


def test_long_batches_and_long_bodies_are_passed_over_too() -> None:
    longer = PLAIN_CHANGE._replace(isr=tuple(range(1_000)))
    batch = build_batch(0, 0, 0, [(PLAIN_CHANGE, 0), (longer, 0)] * 100)
    assert batch.parts(UNREAD) == [UnreadRun(200)]


def test_a_body_whose_length_takes_three_bytes_is_decoded() -> None:
    longest = PLAIN_CHANGE._replace(isr=tuple(range(3_000)))
    batch = build_batch(0, 0, 0, [(PLAIN_CHANGE, 0), (longest, 0)] * 3)
    assert batch.parts(UNREAD) == [UnreadRun(1), longest] * 3


def test_what_is_remembered_of_prefixes_has_a_bound() -> None:
    types = UnreadTypes(TYPES)
    for number in range(2 * MAX_PREFIXES):
        change = PLAIN_CHANGE._replace(partition_id=number << 16)
        build_batch(0, 0, 0, [(change, 0)]).parts(types)
    assert max(map(len, types._sizes)) <= MAX_PREFIXES


def test_acls_between_unread_records_come_in_runs() -> None:
    acl = AccessControlEntryRecord(
        id=b"i" * 16,
        resource_type=2,
        resource_name="t",
        pattern_type=3,
        principal="User:a",
        host="*",
        operation=3,
        permission_type=3,
    )
    batch = build_batch(0, 0, 0, [(PLAIN_CHANGE, 0), (acl, 0), (acl, 0), (NoOpRecord(), 0)])
    parts = batch.parts(UNREAD)
    assert [type(part) for part in parts] == [UnreadRun, AclRun, UnreadRun]

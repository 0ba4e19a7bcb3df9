"""Every fault of a batch is one CorruptLog with its position."""

import gzip
import pickle
import struct
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalog.errors import CorruptLog, InvalidRequest
from metalog.records.batch import (
    MAX_BATCH_SIZE,
    Batch,
    assemble_batch,
    batch_size,
    build_batch,
    decode_batch,
    encode_batch,
)
from metalog.records.frame import Undecodable
from metalog.records.messages import (
    AccessControlEntryRecord,
    LeaderChangeMessage,
    NoOpRecord,
    TopicRecord,
)
from metalog.records.record import Header, RawRecord
from tests.support.disk.batch_files import (
    ATTRIBUTES_AT,
    COUNT_AT,
    HEADER_SIZE,
    LAST_OFFSET_DELTA_AT,
    resealed,
    with_header_field,
    with_payload,
)

NO_OP = bytes((1, 20, 0, 0))
ACLS = [
    (AccessControlEntryRecord(bytes([n] * 16), 2, f"pay-{n}", 3, "User:a", "*", 3, 3), 0)
    for n in range(3)
]
SMALL = encode_batch(build_batch(40, 2, 1_000, [*ACLS, (NoOpRecord(), 0), (TopicRecord("t"), 0)]))
CONTROL = encode_batch(build_batch(40, 2, 1_000, [(LeaderChangeMessage(leader_id=3), 0)]))

raw_records = st.builds(
    RawRecord,
    attributes=st.integers(0, 255),
    timestamp_delta=st.integers(-(1 << 40), 1 << 40),
    offset_delta=st.just(0),
    key=st.none() | st.binary(max_size=9),
    value=st.none() | st.binary(max_size=90),
    headers=st.lists(
        st.builds(Header, key=st.text(max_size=5), value=st.none() | st.binary(max_size=5)),
        max_size=2,
    ).map(tuple),
)


def fault_of(data: bytes) -> CorruptLog | None:
    try:
        read_all(data)
    except CorruptLog as fault:
        return fault
    return None


def read_all(data: bytes) -> tuple[Batch, list]:
    """The batch with all results of its reader, compared with each other."""
    batch = decode_batch(data)
    messages = batch.messages()
    assert messages == [entry.message for entry in batch.entries()]
    assert len(messages) == batch.record_count
    return batch, messages


@given(
    records=st.lists(raw_records, min_size=1, max_size=70),
    base_offset=st.integers(0, 1 << 40),
    epoch=st.integers(0, 1 << 30),
)
@settings(max_examples=60)
def test_records_come_back_whatever_they_hold(records, base_offset, epoch):
    records = [record._replace(offset_delta=n) for n, record in enumerate(records)]
    batch = assemble_batch(base_offset, epoch, 1_000, records)
    read = decode_batch(b"before" + encode_batch(batch) + b"after", 6)
    assert read == batch._replace(position=6)
    assert list(read.raw_records()) == records
    assert [(r.offset, r.timestamp) for r in read.records()] == [
        (base_offset + r.offset_delta, 1_000 + r.timestamp_delta) for r in records
    ]


def test_a_built_batch_says_what_it_holds():
    batch = decode_batch(SMALL, file="f", file_position=500)
    assert (batch.base_offset, batch.last_offset, batch.next_offset, batch.epoch) == (40, 44, 45, 2)
    assert (batch.base_timestamp, batch.max_timestamp, batch.timestamp_type) == (
        1_000,
        1_000,
        "CreateTime",
    )
    assert (batch.is_control, batch.compression) == (False, "none")
    assert (batch.size, batch.file, batch.position) == (len(SMALL), "f", 500)
    assert batch.messages()[:3] == [message for message, _ in ACLS]
    assert batch_size(SMALL) == len(SMALL)
    assert batch_size(SMALL[:11]) is None
    assert pickle.loads(pickle.dumps(batch)) == batch


def test_log_append_time_is_that_of_the_batch():
    append_time = with_header_field(SMALL, ATTRIBUTES_AT, "h", 0x08)
    append_time = with_header_field(append_time, 35, "q", 9_000)
    batch = decode_batch(append_time)
    assert batch.timestamp_type == "LogAppendTime"
    assert {entry.timestamp for entry in batch.entries()} == {9_000}


@pytest.mark.parametrize("original", [SMALL, CONTROL], ids=["records", "control"])
def test_no_flipped_bit_goes_unseen(original):
    """Base offset and epoch lie outside the checksum: a flip there changes no record."""
    expected = [(e.timestamp, e.version, e.message) for e in decode_batch(original).entries()]
    for bit in range(8 * len(original)):
        damaged = bytearray(original)
        damaged[bit // 8] ^= 1 << bit % 8
        in_offset_or_epoch = bit // 8 < 8 or 12 <= bit // 8 < 16
        if fault := fault_of(bytes(damaged)):
            assert fault.byte == 0
            continue
        assert in_offset_or_epoch
        batch, messages = read_all(bytes(damaged))
        assert [(e.timestamp, e.version, e.message) for e in batch.entries()] == expected
        assert messages == [message for _, _, message in expected]


def test_a_batch_cut_short_anywhere_is_refused():
    for size in range(len(SMALL)):
        with pytest.raises(CorruptLog, match="cut short"):
            decode_batch(SMALL[:size])


@pytest.mark.once
@given(st.data())
@settings(max_examples=300)
def test_wrong_bytes_under_a_right_checksum_give_records_or_corrupt_log(data):
    payload = bytearray(SMALL[HEADER_SIZE:])
    for _ in range(data.draw(st.integers(1, 3))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    if fault := fault_of(with_payload(SMALL, bytes(payload))):
        assert fault.offset is not None
        assert HEADER_SIZE <= fault.byte <= len(SMALL)


@given(payload=st.binary(max_size=120), count=st.integers(1, 9))
@settings(max_examples=300)
def test_any_payload_gives_records_or_corrupt_log(payload, count):
    batch = with_header_field(with_payload(SMALL, payload), COUNT_AT, "i", count)
    fault_of(with_header_field(batch, LAST_OFFSET_DELTA_AT, "i", count - 1))


@given(st.binary(max_size=200))
def test_any_bytes_at_all_give_records_or_corrupt_log(data):
    fault_of(data)


@pytest.mark.parametrize(
    ("at", "code", "value", "problem"),
    [
        (16, "b", 1, "magic 1"),
        (16, "b", 3, "magic 3"),
        (0, "q", -1, "base offset -1"),
        (0, "q", (1 << 63) - 2, "5 records from offset"),
        (12, "i", -1, "leader epoch -1"),
        (ATTRIBUTES_AT, "h", 5, "attributes 0x0005"),
        (ATTRIBUTES_AT, "h", 0x80, "attributes 0x0080"),
        (ATTRIBUTES_AT, "h", -0x8000, "attributes 0x8000"),
        (COUNT_AT, "i", 4, "4 records, but the last offset delta is 4"),
        (COUNT_AT, "i", 0, "0 records"),
        (COUNT_AT, "i", -1, "-1 records"),
        (COUNT_AT, "i", 6, "6 records, but"),
        (LAST_OFFSET_DELTA_AT, "i", 5, "5 records, but the last offset delta is 5"),
        (LAST_OFFSET_DELTA_AT, "i", -1, "last offset delta is -1"),
    ],
)
def test_a_wrong_header_under_a_right_checksum_is_refused(at, code, value, problem):
    with pytest.raises(CorruptLog, match=problem):
        decode_batch(with_header_field(SMALL, at, code, value))


@pytest.mark.parametrize("length", [-1, 0, 48, MAX_BATCH_SIZE, (1 << 31) - 1, -(1 << 31)])
def test_no_length_is_trusted(length):
    damaged = bytearray(SMALL)
    struct.pack_into(">i", damaged, 8, length)
    with pytest.raises(CorruptLog):
        decode_batch(bytes(damaged) + bytes(100))


@pytest.mark.parametrize("count", [4, 6])
def test_a_record_count_that_does_not_fit_the_records_is_refused(count):
    """Kafka silently drops the fifth record."""
    batch = with_header_field(SMALL, COUNT_AT, "i", count)
    batch = with_header_field(batch, LAST_OFFSET_DELTA_AT, "i", count - 1)
    with pytest.raises(CorruptLog, match=r"follow the last record|only 5 records"):
        decode_batch(batch).messages()
    with pytest.raises(CorruptLog, match=r"follow the last record|only 5 records"):
        list(decode_batch(batch).entries())


@pytest.mark.parametrize("compression", [0, 1])
def test_a_record_count_of_2_to_the_31_takes_no_memory(compression):
    """Kafka runs out of memory."""
    count = (1 << 31) - 1
    batch = with_payload(SMALL, gzip.compress(SMALL[HEADER_SIZE:])) if compression else SMALL
    batch = with_header_field(batch, ATTRIBUTES_AT, "h", compression)
    batch = with_header_field(batch, COUNT_AT, "i", count)
    batch = with_header_field(batch, LAST_OFFSET_DELTA_AT, "i", count - 1)
    tracemalloc.start()
    try:
        with pytest.raises(CorruptLog):
            read_all(batch)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def record_bytes(
    *, length=None, attributes=0, deltas=b"\x00\x00", key=b"\x01", value=b"\x08" + NO_OP, end=b"\0"
) -> bytes:
    body = bytes((attributes,)) + deltas + key + value + end
    return (bytes((2 * len(body),)) if length is None else length) + body


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (record_bytes(deltas=b"\x00\x02"), "offset delta 1 where 0"),
        (record_bytes(deltas=b"\x00\x01"), "offset delta -1 where 0"),
        (record_bytes(length=b"\x01"), "a record of -1 bytes"),
        (record_bytes(length=b"\x00"), "a record of 0 bytes"),
        (record_bytes(length=b"\xfe\xff\xff\xff\x0f"), "bytes, but only"),
        (record_bytes(length=b"\xff\xff\xff\xff\xff\x0f"), "without a length"),
        (record_bytes(value=b"\x50" + NO_OP), "announced"),
        (record_bytes(value=b"\x06" + NO_OP), "ends after|header"),
        (record_bytes(end=b"\x00x"), "ends after"),
        (record_bytes(end=b"\x01"), "-1 headers"),
        (record_bytes(end=b"\x02\x01"), "a header without a name"),
        (record_bytes(end=b"\xfe\xff\xff\xff\x0f"), "cannot be read"),
        (record_bytes(end=b""), "cannot be read"),
        (record_bytes() + b"x", "1 bytes follow"),
    ],
)
def test_a_malformed_record_under_a_right_checksum_is_refused(record, problem):
    batch = with_payload(encode_batch(build_batch(7, 1, 1, [(NoOpRecord(), 0)])), record)
    with pytest.raises(CorruptLog, match=problem) as fault:
        decode_batch(batch, file="f", file_position=100).messages()
    assert (fault.value.file, fault.value.offset) == ("f", 7)
    assert fault.value.byte >= 100 + HEADER_SIZE


def test_headers_and_keys_do_not_hide_the_message():
    record = RawRecord(0, 0, 0, b"key", NO_OP, (Header("h", b"v"),))
    [message] = assemble_batch(0, 0, 0, [record]).messages()
    assert isinstance(message, Undecodable)
    assert message.lenient == NoOpRecord()
    assert "headers" in message.reason


@pytest.mark.parametrize("value", [None, b"", b"\x01", b"\x01\x12", b"\xff" * 9])
def test_a_value_that_is_no_message_is_undecodable_and_no_error(value):
    batch = assemble_batch(0, 0, 0, [RawRecord(0, 0, 0, None, value, ())])
    [message] = batch.messages()
    assert isinstance(message, Undecodable)
    assert message.value == (value or b"")


def test_no_repr_shows_what_may_be_secret():
    record = RawRecord(0, 0, 0, b"s3cr3t", b"s3cr3t", (Header("h", b"s3cr3t"),))
    batch = assemble_batch(0, 0, 0, [record])
    assert "s3cr3t" not in f"{batch!r} {list(batch.records())} {list(batch.entries())} {record!r}"


def test_a_batch_is_of_one_kind_and_not_empty():
    for messages in ([], [(NoOpRecord(), 0), (LeaderChangeMessage(), 0)]):
        with pytest.raises(InvalidRequest):
            build_batch(0, 0, 0, messages)


def test_a_resealed_batch_is_the_batch():
    assert resealed(SMALL) == SMALL

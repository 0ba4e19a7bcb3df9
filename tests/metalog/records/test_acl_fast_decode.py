"""The fast path equals the general one, on plain records and on all others."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalog.errors import CorruptLog
from metalog.image.state.acls import why_doubtful
from metalog.records import record
from metalog.records.acl_codes import acl_of
from metalog.records.batch import Batch, assemble_batch, build_batch, decode_batch, encode_batch
from metalog.records.fast_decode import acl_fast_decode
from metalog.records.fast_decode.acl_fast_decode import AclRun, messages_of, numbered
from metalog.records.frame import encode_value
from metalog.records.messages import AccessControlEntryRecord, NoOpRecord, RemoveTopicRecord
from metalog.records.record import (
    Header,
    MalformedRecord,
    RawRecord,
    check_end,
    plain_start,
    read_record,
    read_records,
)
from tests.support.disk.batch_files import HEADER_SIZE, with_payload
from tests.support.worlds.message_strategies import METADATA_RECORDS, messages

ACL_SCHEMA, CHANGE_SCHEMA = (
    next(s for s in METADATA_RECORDS if s.name == name)
    for name in ("AccessControlEntryRecord", "PartitionChangeRecord")
)
NAMES = st.sampled_from(["", "a", "pay", "x" * 40, "x" * 125, "x" * 126, "x" * 127, "x" * 300, "é"])
ACLS = st.builds(
    AccessControlEntryRecord,
    id=st.binary(min_size=16, max_size=16),
    resource_type=st.integers(-3, 7),
    resource_name=NAMES,
    pattern_type=st.sampled_from([3, 4, -1]),
    principal=NAMES,
    host=NAMES,
    operation=st.integers(-2, 15),
    permission_type=st.sampled_from([2, 3]),
    unknown_tagged_fields=st.just(()),
)
OTHERS = st.just(NoOpRecord()) | messages(ACL_SCHEMA, 0) | messages(CHANGE_SCHEMA, 2)
PAIRS = (ACLS | OTHERS).map(lambda message: (message, message.VERSIONS[-1]))


def outcome(read, batch: Batch):
    try:
        return read(batch)
    except CorruptLog as fault:
        return fault.problem, fault.offset, fault.byte


def one_by_one(payload: bytes, count: int):
    """Decodes every record by the general path."""
    at = 0
    for index in range(count):
        record, at = read_record(payload, at, index)
        yield record
    check_end(payload, at, count)


def raw_outcome(read, batch: Batch):
    try:
        return list(read(batch.data, batch.record_count))
    except MalformedRecord as fault:
        return fault.problem, fault.index, fault.at


def assert_same_either_way(batch: Batch) -> None:
    assert raw_outcome(read_records, batch) == raw_outcome(one_by_one, batch)
    fast = outcome(Batch.messages, batch)
    slow = outcome(lambda batch: [entry.message for entry in batch.entries()], batch)
    assert fast == slow
    assert_no_run_is_doubtful(batch)
    assert repr(fast) == repr(slow)


def assert_no_run_is_doubtful(batch: Batch) -> None:
    parts = outcome(Batch.parts, batch)
    runs = [part for part in parts if isinstance(part, AclRun)]
    assert not any(map(why_doubtful, messages_of(runs)))


@given(st.lists(PAIRS, min_size=1, max_size=80))
@settings(max_examples=150)
def test_whole_batches(pairs):
    batch = build_batch(0, 0, 0, pairs)
    assert batch.messages() == [message for message, _ in pairs]
    assert_same_either_way(batch)


@pytest.mark.once
@given(st.data())
@settings(max_examples=300)
def test_changed_bytes(data):
    pairs = data.draw(st.lists(PAIRS, min_size=1, max_size=3))
    whole = encode_batch(build_batch(0, 0, 0, pairs))
    payload = bytearray(whole[HEADER_SIZE:])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(payload) - 1))
        payload[at] = data.draw(st.integers(0, 255) | st.sampled_from([0, 1, 0x7F, 0x80]))
    cut = data.draw(st.integers(0, 3))
    assert_same_either_way(decode_batch(with_payload(whole, bytes(payload[: len(payload) - cut]))))


@given(ACLS, st.integers(0, 2), st.integers(-1, 3), st.none() | st.binary(max_size=2))
def test_records_that_are_not_plain(acl, headers, timestamp_delta, key):
    record = RawRecord(
        0, timestamp_delta, 0, key, encode_value(acl, 0), (Header("h", b"v"),) * headers
    )
    batch = assemble_batch(0, 0, 0, [record])
    is_refused = bool(headers or timestamp_delta) or key is not None
    [message] = batch.messages()
    assert message == acl or (is_refused and message.lenient == acl)
    assert_same_either_way(batch)


def test_every_width_of_offset_delta():
    acl = AccessControlEntryRecord(bytes(16), 2, "pay", 3, "User:a", "*", 3, 3)
    records = [acl, NoOpRecord()] * 4_150
    assert build_batch(0, 0, 0, [(record, 0) for record in records]).messages() == records


def test_every_width_of_a_length():
    """The length of a record and of its value, with one, two and three bytes."""
    sizes = [size for least in (64, 8192) for size in range(least - 20, least + 3)]
    records = [RemoveTopicRecord(bytes(16), ((9, bytes(size - 25)),)) for size in sizes]
    batch = build_batch(0, 0, 0, [(record, 0) for record in records])
    assert batch.messages() == records
    assert_same_either_way(batch)


def test_what_is_remembered_is_bounded_and_shared(monkeypatch):
    monkeypatch.setattr(acl_fast_decode, "MAX_CACHED", 10)
    for remembered in (acl_fast_decode._names, acl_fast_decode._ends, acl_fast_decode._texts):
        remembered.clear()
    acls = [
        AccessControlEntryRecord(bytes(16), 2, f"pay-{n}", 3, f"User:{n % 7}", "*", 3, 3)
        for n in range(100)
    ]
    read = build_batch(0, 0, 0, [(acl, 0) for acl in acls]).messages()
    assert read == acls
    kept = (acl_fast_decode._names, acl_fast_decode._ends, acl_fast_decode._texts)
    assert max(map(len, kept)) <= 10
    assert read[-1].host is read[-2].host


def test_equal_names_are_one_text():
    acls = [
        AccessControlEntryRecord(bytes(16), kind, name, 3, "User:a", "*", 3, 3)
        for name in ("pay", "orders", "pay")
        for kind in (2, 3)
    ]
    for batch in [build_batch(0, 0, 0, [(acl, 0) for acl in acls])] * 2:
        [run] = batch.parts()
        assert len({id(acl.resource_name) for acl in run.acls}) == 2


def test_the_shapes_that_are_remembered_are_bounded(monkeypatch):
    monkeypatch.setattr(acl_fast_decode, "MAX_SHAPES", 10)
    for remembered in acl_fast_decode._shapes_by_start_size.values():
        remembered.clear()
    acls = [
        AccessControlEntryRecord(
            bytes(16), 2, "n" * (n % 100), 3, "User:" + "a" * (n % 7), "*", 3, 3
        )
        for n in range(700)
    ]
    assert build_batch(0, 0, 0, [(acl, 0) for acl in acls]).messages() == acls
    assert max(map(len, acl_fast_decode._shapes_by_start_size.values())) <= 10


def test_a_run_of_plain_acls_is_one_part_and_ends_at_what_is_not_plain():
    acl = AccessControlEntryRecord(bytes(16), 2, "pay", 3, "User:a", "*", 3, 3)
    doubtful = acl._replace(resource_name="\ufffd"), acl._replace(operation=99)
    records = [acl, acl, NoOpRecord(), acl, *doubtful, acl]
    parts = build_batch(0, 0, 0, [(record, 0) for record in records]).parts()
    run = AclRun([acl.id], [acl_of(acl)])
    assert parts == [AclRun([acl.id] * 2, [acl_of(acl)] * 2), NoOpRecord(), run, *doubtful, run]
    assert [at for at, _ in numbered(parts, 7)] == [7, 9, 10, 11, 12, 13]


def test_threads_may_decode_at_once(monkeypatch):
    """Also while they empty and fill the cache of offsets."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            for _ in range(10):
                monkeypatch.setattr(record, "_first_starts", [])
                found = list(threads.map(lambda _: record.plain_starts(1000), range(4)))
                assert found == [[plain_start(index) for index in range(1000)]] * 4
                assert record._first_starts == found[0]
    finally:
        sys.setswitchinterval(interval)

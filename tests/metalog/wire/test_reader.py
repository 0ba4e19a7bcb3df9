"""Bytes of kio's writer read back equal; false or truncated bytes are refused."""

from __future__ import annotations

import io
import tracemalloc
from functools import cache
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.api_versions.v0.response import ApiVersionsResponse as OldVersions
from kio.schema.api_versions.v4.response import ApiVersionsResponse
from kio.schema.errors import ErrorCode
from kio.schema.fetch_snapshot.v1.response import FetchSnapshotResponse
from kio.serial import entity_reader, entity_writer

from metalog.wire.frames import Malformed
from metalog.wire.messages import UnreadRequest, read_head
from metalog.wire.reader import TooManyElements, read
from metalog.wire.schema import UnsupportedVersion, request_type, response_type
from tests.support.wire.hostile_requests import Shape, request
from tests.support.wire.strategies import messages

APIS = {
    "Produce": (0, range(8, 9)),
    "Fetch": (1, range(13, 19)),
    "Metadata": (3, range(14)),
    "SaslHandshake": (17, range(2)),
    "ApiVersions": (18, range(5)),
    "DescribeAcls": (29, range(1, 4)),
    "CreateAcls": (30, range(1, 4)),
    "DeleteAcls": (31, range(1, 4)),
    "SaslAuthenticate": (36, range(3)),
    "DescribeClientQuotas": (48, range(2)),
    "DescribeUserScramCredentials": (50, range(1)),
    "AlterUserScramCredentials": (51, range(1)),
    "DescribeQuorum": (55, range(3)),
    "Envelope": (58, range(2)),
    "FetchSnapshot": (59, range(2)),
    "DescribeCluster": (60, range(3)),
}


@cache
def declared_of(name: str) -> list[type[Any]]:
    key, versions = APIS[name]
    kinds = [*(request_type(key, each) for each in versions)]
    kinds += [response_type(key, each) for each in versions]
    return kinds + [kind.__header_schema__ for kind in kinds]


def written(message: Any) -> bytes:
    out = io.BytesIO()
    entity_writer(type(message))(out, message)
    return out.getvalue()


@pytest.mark.parametrize("name", APIS)
@settings(max_examples=15)
@given(data=st.data())
def test_a_message_is_read_as_it_was_written(name: str, data: st.DataObject) -> None:
    declared = data.draw(st.sampled_from(declared_of(name)))
    message = data.draw(messages(declared))
    wire = written(message)
    assert read(declared, wire + b"more") == (message, len(wire))
    assert entity_reader(declared)(wire, 0) == (message, len(wire))


@pytest.mark.once
@pytest.mark.parametrize("name", APIS)
@settings(max_examples=15)
@given(data=st.data())
def test_cut_short_it_is_refused(name: str, data: st.DataObject) -> None:
    declared = data.draw(st.sampled_from(declared_of(name)))
    wire = written(data.draw(messages(declared)))
    end = data.draw(st.integers(0, len(wire)))
    if end < len(wire):
        with pytest.raises(Malformed):
            read(declared, wire[:end])


@pytest.mark.once
@pytest.mark.parametrize("name", APIS)
@settings(max_examples=15)
@given(data=st.data())
def test_any_bytes_are_a_message_or_refused(name: str, data: st.DataObject) -> None:
    declared = data.draw(st.sampled_from(declared_of(name)))
    noise = data.draw(st.binary(max_size=60))
    try:
        _, end = read(declared, noise)
    except Malformed:
        return
    assert 0 <= end <= len(noise)


@pytest.mark.parametrize(
    ("declared", "wire"),
    [
        (ApiVersionsResponse, b"\0\0\xff\xff\xff\xff\x0f"),
        (OldVersions, b"\0\0\x7f\xff\xff\xff"),
        (OldVersions, b"\0\0\xff\xff\xff\xfe"),
    ],
)
def test_an_array_that_says_it_is_vast_is_refused_at_once(declared: type, wire: bytes) -> None:
    with pytest.raises(Malformed):
        read(declared, wire + bytes(9))


def test_a_string_longer_than_kafka_reads_is_refused() -> None:
    """Kafka closes the connection, as a node does at ``Malformed``."""
    declared = request_type(51, 0)
    deletion = get_type_hints(declared)["deletions"].__args__[0]
    longest, longer = (
        declared(deletions=(deletion(name="u" * size, mechanism=1),), upsertions=())
        for size in (32_767, 32_768)
    )
    assert read(declared, written(longest))[0] == longest
    with pytest.raises(Malformed, match="a string of 32,768 bytes"):
        read(declared, written(longer))


def test_a_tagged_field_of_a_later_version_is_passed_over() -> None:
    later = b"\0\0\x01\0\0\0\x05\x01\x3f\x02\x07\x07"
    body, end = read(ApiVersionsResponse, later)
    assert (body.throttle_time.total_seconds(), end) == (0.005, len(later))


@pytest.mark.parametrize(
    ("tagged", "cluster_id"), [(b"\0", None), (b"\x01\0\x01\0", None), (b"\x01\0\x02\x02c", "c")]
)
def test_a_tagged_field_may_be_null(tagged: bytes, cluster_id: str | None) -> None:
    body, _ = read(request_type(59, 1), bytes(8) + b"\x01" + tagged)
    assert body.cluster_id == cluster_id


def test_a_tagged_field_that_is_longer_than_its_value_is_refused() -> None:
    with pytest.raises(Malformed, match="tagged field 0 has 3 bytes, but its value has 2"):
        read(request_type(59, 1), bytes(8) + b"\x01\x01\0\x03\x02cc")


@pytest.mark.parametrize("length", [-1, -2, -(2**15)])
def test_any_negative_length_is_null_before_kip_482(length: int) -> None:
    """As in Kafka."""
    header = request_type(3, 1).__header_schema__
    client_id = length.to_bytes(2, "big", signed=True)
    assert read(header, b"\0\3\0\1\0\0\0\7" + client_id)[0].client_id is None
    assert read(request_type(3, 1), length.to_bytes(4, "big", signed=True))[0].topics is None


def test_an_error_code_without_a_name_is_its_number() -> None:
    body, _ = read(ApiVersionsResponse, (20_000).to_bytes(2, "big") + b"\x01\0\0\0\0\0")
    assert body.error_code == 20_000
    body, _ = read(ApiVersionsResponse, (35).to_bytes(2, "big") + b"\x01\0\0\0\0\0")
    assert body.error_code is ErrorCode.unsupported_version


def test_a_structure_that_is_left_out_has_its_defaults() -> None:
    partition = b"\0\0\0\0\0\0" + bytes(12) + b"\0" + bytes(16) + b"\x01\0"
    topic = b"\x02t\x02" + partition + b"\0"
    body, _ = read(FetchSnapshotResponse, bytes(4) + b"\0\0\x02" + topic + b"\0")
    leader = body.topics[0].partitions[0].current_leader
    assert (leader.leader_id, leader.leader_epoch) == (0, 0)


def test_what_nobody_declares_is_named() -> None:
    with pytest.raises(UnsupportedVersion, match="API 1 is unknown in version 99"):
        request_type(1, 99)
    with pytest.raises(UnsupportedVersion):
        response_type(9999, 0)


def unread(key: int, version: int, shape: Shape, most_elements: int) -> UnreadRequest:
    payload = request(request_type(key, version), shape)
    return UnreadRequest(read_head(payload), payload, most_elements)


@pytest.mark.parametrize("shape", [Shape(items=10), Shape(items=1, tags=9), Shape(tags=10)])
def test_a_request_of_more_elements_than_its_bound_is_refused(shape: Shape) -> None:
    assert unread(30, 3, shape, 10).body is not None
    with pytest.raises(TooManyElements, match="more than 9 elements"):
        assert unread(30, 3, shape, 9).body


def test_announced_elements_are_refused_before_any_is_read() -> None:
    """Not even the first could be read."""
    payload = request(request_type(30, 3), Shape())[:-2] + b"\xff\xff\xff\xff\x07"
    with pytest.raises(TooManyElements):
        assert UnreadRequest(read_head(payload), payload, 1000).body


def test_unknown_tagged_fields_are_not_kept() -> None:
    hostile = unread(30, 3, Shape(tags=100_000), 100_000)
    tracemalloc.start()
    try:
        assert hostile.body.creations == ()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50_000


@pytest.mark.parametrize("version", [1, 3])
def test_items_are_counted_without_being_read(version: int) -> None:
    assert unread(30, version, Shape(items=7), 7).count() == 7
    with pytest.raises(TooManyElements):
        unread(30, version, Shape(items=8), 7).count()
    payload = request(request_type(30, 3), Shape())[:-2] + b"\x09"
    with pytest.raises(Malformed, match="8 items are announced, but only 0 bytes are left"):
        UnreadRequest(read_head(payload), payload, 100).count()


@pytest.mark.parametrize(
    ("version", "length"), [(1, b"\xff" * 4), (1, b"\xff" * 3 + b"\xfb"), (3, b"\0")]
)
def test_an_array_that_cannot_be_null_is_called_so(version: int, length: bytes) -> None:
    """As in Kafka, for which each negative length is null."""
    end = -4 if version == 1 else -2
    payload = request(request_type(30, version), Shape())[:end] + length + b"\0" * (version // 2)
    hostile = UnreadRequest(read_head(payload), payload, 100)
    for reading in (hostile.count, hostile.read):
        with pytest.raises(Malformed, match="Request: null in a field that cannot be null"):
            reading()


def test_a_negative_length_of_an_array_that_can_be_null_is_null() -> None:
    declared = request_type(3, 1)
    for length in (b"\xff" * 4, b"\xff" * 3 + b"\xfb"):
        assert read(declared, length)[0].topics is None

"""One record inside a batch of Kafka's message format v2.

A *plain* record has only an offset delta and a value. Its encoded lengths have at most two bytes
each.

This module must not know what a value means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from metalog.records.primitives.fields import UNREADABLE
from metalog.records.primitives.varint import read_varint, read_varlong, write_varint, write_varlong

MIN_RECORD_SIZE: Final = 7
"""In bytes: the size of a record without key, value and headers."""
_NULL: Final = 1
"""The encoded varint -1."""
_NO_HEADERS: Final = 0
MAX_STARTS: Final = 1 << 17
"""``plain_starts`` covers at most this many records of a batch."""
START_SIZES: Final = ((0, 64, 3), (64, 8192, 4), (8192, MAX_STARTS, 5))
"""Ranges of record numbers (first, end), each with the size of its ``plain_start`` in bytes."""
_CACHED_SIZES: Final = 1 << 12
_MIN_THREE_BYTES: Final = 1 << 14
"""The smallest zigzag-encoded number that takes three bytes."""


SkipRecords = Callable[[bytes, int, int, Sequence[bytes]], tuple[int, int]]
"""The type of ``UnreadTypes.skip``."""


class Header(NamedTuple):
    key: str
    value: bytes | None


class RawRecord(NamedTuple):
    """A record as the payload stores it: with deltas instead of offset and time."""

    attributes: int
    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]

    def __repr__(self) -> str:
        """Leaves out key, value and headers, which may be secret."""
        return f"RawRecord(offset_delta={self.offset_delta})"


def refusal(record: RawRecord, *, is_control: bool) -> str | None:
    """Why Kafka's reader of metadata logs refuses ``record``, or None. The value is not checked.

    Source: Kafka's ``RecordsIterator``, with which tests/compat compares this function.
    """
    if record.timestamp_delta:
        return f"a record with a timestamp delta of {record.timestamp_delta}"
    if record.headers:
        return "a record with headers"
    if record.key is not None and not is_control:
        return "a metadata record with a key"
    return None


class MalformedRecord(Exception):
    """A fault in record number ``index`` of a batch, at byte ``at`` of its payload."""

    def __init__(self, problem: str, index: int, at: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.index = index
        self.at = at


def read_records(
    payload: bytes, count: int, skip: SkipRecords | None = None
) -> Iterator[RawRecord]:
    """The records of a payload, except those that ``skip`` skips.

    Raises ``MalformedRecord`` if a record or ``count`` is wrong.
    """
    index = at = 0
    starts = plain_starts(min(count, len(payload) // MIN_RECORD_SIZE))
    while index < count:
        if skip is not None:
            at, next_index = skip(payload, at, index, starts)
            if next_index > index:
                index = next_index
                continue
        plain = plain_value(payload, at, starts[index]) if index < len(starts) else None
        if plain is None:
            record, at = read_record(payload, at, index)
            yield record
        else:
            value, at = plain
            yield tuple.__new__(RawRecord, (0, 0, index, None, value, ()))
        index += 1
    check_end(payload, at, count)


def check_end(payload: bytes, at: int, count: int) -> None:
    if at != len(payload):
        raise MalformedRecord(f"{len(payload) - at} bytes follow the last record", count - 1, at)


def plain_start(index: int) -> bytes:
    """The encoded attributes, timestamp delta and offset delta of plain record number ``index``."""
    start = bytearray(2)
    write_varint(start, index)
    return bytes(start)


_first_starts: list[bytes] = []


def plain_starts(count: int) -> list[bytes]:
    """The ``plain_start`` of each of the first ``count`` records, at most ``MAX_STARTS``."""
    global _first_starts
    cached = _first_starts
    count = min(count, MAX_STARTS)
    if len(cached) < count:
        cached = _first_starts = [*cached, *map(plain_start, range(len(cached), count))]
    return cached[:count]


def plain_value(payload: bytes, at: int, start: bytes) -> tuple[bytes, int] | None:
    """The value of the plain record at ``at``, and the position after the record.

    None if ``read_record`` must read the record. ``start`` is the record's ``plain_start``.
    """
    try:
        zigzag_size = payload[at]
        body = at + 1
        if zigzag_size >= 0x80:
            zigzag_size += (payload[body] << 7) - 0x80
            body += 1
        key_at = body + len(start)
        if payload[body:key_at] != start or payload[key_at] != _NULL:
            return None
        zigzag_value_size = payload[key_at + 1]
        value_at = key_at + 2
        if zigzag_value_size >= 0x80:
            zigzag_value_size += (payload[value_at] << 7) - 0x80
            value_at += 1
        value_end = value_at + (zigzag_value_size >> 1)
        end = body + (zigzag_size >> 1)
        is_whole = end == value_end + 1 and payload[value_end] == _NO_HEADERS
    except IndexError:
        return None
    bits = zigzag_size | zigzag_value_size
    if not is_whole or bits & 1 or bits >= _MIN_THREE_BYTES:
        return None
    return payload[value_at:value_end], end


def read_record(payload: bytes, at: int, index: int) -> tuple[RawRecord, int]:
    """Record number ``index`` at position ``at``, and the position after the record."""
    if at >= len(payload):
        raise MalformedRecord(f"the batch has only {index} records", index, at)
    try:
        size, body = read_varint(payload, at)
    except UNREADABLE:
        raise MalformedRecord("a record without a length", index, at) from None
    end = body + size
    if size < MIN_RECORD_SIZE - 1:
        raise MalformedRecord(
            f"a record of {size} bytes: the smallest has {MIN_RECORD_SIZE - 1}", index, at
        )
    if end > len(payload):
        left = len(payload) - body
        raise MalformedRecord(f"a record of {size} bytes, but only {left} are left", index, at)
    try:
        record, read_to = _read_body(payload[body:end])
    except UNREADABLE as error:
        raise MalformedRecord(f"a record that cannot be read: {error}", index, at) from None
    if read_to != size:
        raise MalformedRecord(f"a record of {size} bytes ends after {read_to}", index, at)
    if record.offset_delta != index:
        problem = f"offset delta {record.offset_delta} where {index} must follow"
        raise MalformedRecord(problem, index, at)
    return record, end


def _read_body(body: bytes) -> tuple[RawRecord, int]:
    timestamp_delta, at = read_varlong(body, 1)
    offset_delta, at = read_varint(body, at)
    key, at = _read_nullable(body, at)
    value, at = _read_nullable(body, at)
    count, at = read_varint(body, at)
    if count < 0:
        raise ValueError(f"{count} headers")
    headers = []
    for _ in range(count):
        name, at = _read_nullable(body, at)
        if name is None:
            raise ValueError("a header without a name")
        header_value, at = _read_nullable(body, at)
        headers.append(Header(name.decode("utf-8", "surrogateescape"), header_value))
    attributes = body[0]
    return RawRecord(attributes, timestamp_delta, offset_delta, key, value, tuple(headers)), at


def _read_nullable(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = read_varint(data, at)
    if size < 0:
        return None, at
    end = at + size
    if end > len(data):
        raise ValueError(f"{size} bytes are announced, but only {len(data) - at} are left")
    return data[at:end], end


def write_values(values: Sequence[bytes]) -> bytes:
    """The payload of a batch of at most ``MAX_STARTS`` records that have only a value."""
    pieces: list[bytes] = []
    for start, value in zip(plain_starts(len(values)), values, strict=True):
        size, between = _plain_sizes(len(start), len(value))
        pieces += (size, start, between, value, b"\0")
    return b"".join(pieces)


def write_records(records: Sequence[RawRecord]) -> bytes:
    """The payload of a batch."""
    pieces: list[bytes] = []
    starts = plain_starts(len(records))
    for index, record in enumerate(records):
        attributes, timestamp_delta, offset_delta, key, value, headers = record
        if (
            value is None
            or key is not None
            or headers
            or attributes
            or timestamp_delta
            or not offset_delta == index < len(starts)
        ):
            pieces.append(_any_record(record))
            continue
        start = starts[index]
        size, between = _plain_sizes(len(start), len(value))
        pieces += (size, start, between, value, b"\0")
    return b"".join(pieces)


@lru_cache(_CACHED_SIZES)
def _plain_sizes(start_size: int, value_size: int) -> tuple[bytes, bytes]:
    """The record's encoded length, and the bytes between ``plain_start`` and the value."""
    size, between = bytearray(), bytearray((_NULL,))
    write_varint(between, value_size)
    write_varint(size, start_size + len(between) + value_size + 1)
    return bytes(size), bytes(between)


def _any_record(record: RawRecord) -> bytes:
    body = bytearray((record.attributes,))
    write_varlong(body, record.timestamp_delta)
    write_varint(body, record.offset_delta)
    _write_nullable(body, record.key)
    _write_nullable(body, record.value)
    write_varint(body, len(record.headers))
    for header in record.headers:
        _write_nullable(body, header.key.encode("utf-8", "surrogateescape"))
        _write_nullable(body, header.value)
    out = bytearray()
    write_varint(out, len(body))
    return bytes(out + body)


def _write_nullable(out: bytearray, value: bytes | None) -> None:
    if value is None:
        write_varint(out, -1)
    else:
        write_varint(out, len(value))
        out += value

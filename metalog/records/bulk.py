"""All messages of a batch at once: the hot path of replay.

Most records of a metadata log are ACLs in their plainest form: no key, no headers, no
timestamp delta, no tagged fields, nothing longer than two bytes of length can say. Those
are read here in one straight line. Every record that is not exactly of that form goes
the ordinary way (``record``, ``frame``), which alone decides what is wrong with it.

A plain record begins

    length | attributes 0, timestamp delta 0, offset delta | key -1, value length, 1, 18, 0 | id ...

where the third part follows from the length, and is kept for each length that occurs.
Names and the rest of an ACL repeat from record to record, and so are remembered.

This module must not know files, offsets or control records.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Final

from metalog.records.frame import FRAME_VERSION, Undecodable, decode_value
from metalog.records.message import ControlMessage, Message
from metalog.records.messages.access_control_entry_record import AccessControlEntryRecord
from metalog.records.record import check_end, read_record
from metalog.records.text import decode_text
from metalog.records.varint import write_varint

MAX_REMEMBERED = 1 << 16
"""Names, and as many ends of ACLs; then they are forgotten and remembered anew."""

_ACL_FRAME: Final = bytes((FRAME_VERSION, AccessControlEntryRecord.API_KEY, 0))
_ID_SIZE: Final = 16
_INT8S: Final = struct.Struct(">bbb")
_NO_TAGGED_FIELDS_NOR_HEADERS: Final = b"\x00\x00"
_TWO_BYTE_DELTAS: Final = 8192
_RUNS: Final = ((0, 64, 3), (64, _TWO_BYTE_DELTAS, 4), (_TWO_BYTE_DELTAS, 1 << 20, 5))
"""First record, end, and bytes of attributes, timestamp delta and offset delta."""
_ONE_BYTE_LENGTH: Final = 64

_AclEnd = tuple[int, str, str, int, int]
"""Pattern type, principal, host, operation, permission type."""
_Unpack = Callable[[bytes, int], tuple[bytes, bytes, bytes, int, int]]
_Plain = tuple[_Unpack, bytes, int, int]
"""Of the plain records of one length: what unpacks one, what stands before its id, where its
name begins, and its size, both counted from where its length stands."""


class _NotPlain(Exception):
    """For a record that goes the ordinary way."""


_names: dict[bytes, str] = {}
_acl_ends: dict[bytes, _AclEnd] = {}
_plains_by_delta_size: dict[int, dict[int, _Plain]] = {3: {}, 4: {}, 5: {}}
_first_deltas: tuple[bytes, ...] = ()


def decode_metadata_values(
    payload: bytes, count: int
) -> list[Message | ControlMessage | Undecodable]:
    """The message of each of ``count`` records; ``MalformedRecord`` if they are not there."""
    messages: list[Message | ControlMessage | Undecodable] = []
    at = 0
    for first, end, delta_size in _RUNS:
        if first < count:
            deltas = _deltas(first, min(count, end))
            at = _decode_run(payload, at, deltas, delta_size, messages)
    for index in range(len(messages), count):
        record, at = read_record(payload, at, index)
        messages.append(decode_value(record.value or b"")[1])
    check_end(payload, at, count)
    return messages


def _decode_run(
    payload: bytes,
    at: int,
    deltas: Iterable[bytes],
    delta_size: int,
    messages: list[Message | ControlMessage | Undecodable],
) -> int:
    """The records whose ``deltas`` these are; returns where they end."""
    append = messages.append
    new = tuple.__new__
    acl = AccessControlEntryRecord
    plains = _plains_by_delta_size[delta_size]
    known_plain = plains.get
    known_name = _names.get
    known_end = _acl_ends.get
    payload_size = len(payload)
    for expected_delta in deltas:
        try:
            length = payload[at]
            if length >= 0x80:
                length |= payload[at + 1] << 8
            plain = known_plain(length)
            if plain is None:
                plain = _remember_plain(plains, length, delta_size)
            unpack, before_value, name_at, size = plain
            delta, before, id_, resource_type, name_size = unpack(payload, at)
            name_at += at
            name_end = name_at + name_size
            next_at = at + size
            is_plain = before == before_value and delta == expected_delta
            if is_plain and name_end <= next_at <= payload_size:
                raw_name = payload[name_at:name_end]
                raw_end = payload[name_end:next_at]
                name = known_name(raw_name)
                if name is None:
                    name = _remember_name(raw_name)
                acl_end = known_end(raw_end)
                if acl_end is None:
                    acl_end = _remember_end(raw_end)
                pattern_type, principal, host, operation, permission_type = acl_end
                fields = (
                    id_,
                    resource_type,
                    name,
                    pattern_type,
                    principal,
                    host,
                    operation,
                    permission_type,
                    (),
                )
                append(new(acl, fields))
                at = next_at
                continue
        except (IndexError, struct.error, _NotPlain):
            pass
        record, at = read_record(payload, at, len(messages))
        append(decode_value(record.value or b"")[1])
    return at


def _deltas(first: int, end: int) -> Iterable[bytes]:
    """Attributes, timestamp delta and offset delta of plain records ``first`` to ``end``."""
    global _first_deltas
    if end > _TWO_BYTE_DELTAS:
        return map(_delta, range(first, end))
    known = _first_deltas
    if len(known) < end:
        known = _first_deltas = (*known, *map(_delta, range(len(known), end)))
    return known[first:end]


def _delta(index: int) -> bytes:
    delta = bytearray(2)
    write_varint(delta, index)
    return bytes(delta)


def _remember_plain(plains: dict[int, _Plain], length: int, delta_size: int) -> _Plain:
    """``length`` is the one or two bytes of a record's length, the first one lowest."""
    low, high = length & 0xFF, length >> 8
    size = (low & 0x7F | high << 7) >> 1
    if low & 1 or high >= 0x80 or (low >= 0x80 and high == 0):
        raise _NotPlain
    value_size = size - delta_size - 3
    if value_size >= _ONE_BYTE_LENGTH:
        value_size -= 1
    before = bytearray()
    write_varint(before, -1)
    write_varint(before, value_size)
    if delta_size + len(before) + value_size + 1 != size:
        raise _NotPlain
    before += _ACL_FRAME
    length_size = 2 if high else 1
    layout = struct.Struct(f">{length_size}x{delta_size}s{len(before)}s{_ID_SIZE}sbB")
    name_at = layout.size - 1
    plain = layout.unpack_from, bytes(before), name_at, length_size + size
    plains[length] = plain
    return plain


def _remember_name(raw: bytes) -> str:
    """``raw`` is a compact string, its length of one byte included."""
    if not raw or raw[0] != len(raw) or raw[0] >= 0x80:
        raise _NotPlain
    if len(_names) >= MAX_REMEMBERED:
        _names.clear()
    name = _names[raw] = decode_text(raw[1:])
    return name


def _remember_end(raw: bytes) -> _AclEnd:
    """``raw`` is what follows the name in a plain record, to the record's last byte."""
    host_at = 1 + raw[1]
    operation_at = host_at + raw[host_at]
    if len(raw) != operation_at + 4 or not raw.endswith(_NO_TAGGED_FIELDS_NOR_HEADERS):
        raise _NotPlain
    principal, host = raw[1:host_at], raw[host_at:operation_at]
    pattern_type, operation, permission_type = _INT8S.unpack(
        raw[:1] + raw[operation_at : operation_at + 2]
    )
    if len(_acl_ends) >= MAX_REMEMBERED:
        _acl_ends.clear()
    end = _acl_ends[raw] = (
        pattern_type,
        _names.get(principal) or _remember_name(principal),
        _names.get(host) or _remember_name(host),
        operation,
        permission_type,
    )
    return end

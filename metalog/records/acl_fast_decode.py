"""All records of a batch at once: the hot path of replay.

Most records of a metadata log are ACLs in their plainest form: no key, no headers, no
timestamp delta, no tagged fields, a name of at most 126 bytes, and no doubt about what is
meant. Those are read here in one straight line, and a run of them is one part of the
batch: ids and ACLs, without a message for each. Every record that is not exactly of that
form goes the ordinary way (``record``, ``frame``), which alone decides what is wrong with it.

A plain record is

    length | attributes 0, timestamp delta 0, offset delta | key -1, value length, 1, 18, 0
    | id | resource type, name | pattern type, principal, host, operation, permission, 0, 0

Its length and the length of its name say where each of these stands: one ``struct`` for
each pair of them takes it apart. What the last two mean is remembered, since they repeat
from record to record.

This module must not know files, offsets or control records.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from metalog.acl import Acl
from metalog.ids import Uuid
from metalog.records.acl_codes import (
    BOUND_OPERATIONS,
    BOUND_PATTERN_TYPES,
    BOUND_PERMISSION_TYPES,
    BOUND_RESOURCE_TYPES,
    record_of,
)
from metalog.records.frame import FRAME_VERSION, Undecodable, decode_value, refused
from metalog.records.message import ControlMessage, Message
from metalog.records.messages.access_control_entry_record import AccessControlEntryRecord
from metalog.records.primitives.text import REPLACEMENT, decode_text
from metalog.records.primitives.varint import write_varint
from metalog.records.record import (
    SMALLEST,
    check_end,
    plain_start,
    plain_value,
    read_record,
    refusal,
)
from metalog.records.unread import UNREAD_RECORD, UnreadRun, UnreadTypes

MAX_REMEMBERED = 1 << 16
"""Names, and as many ends of ACLs, and texts in those; then they are forgotten."""
MAX_SHAPES = 1 << 9
"""Lengths of records that are remembered, for each size of an offset delta."""

_ACL_FRAME: Final = bytes((FRAME_VERSION, AccessControlEntryRecord.API_KEY, 0))
_ID_SIZE: Final = 16
_NO_TAGGED_FIELDS_NOR_HEADERS: Final = b"\x00\x00"
_SPANS: Final = ((0, 64, 3), (64, 8192, 4), (8192, 1 << 17, 5))
"""First record, end, and bytes of attributes, timestamp delta and offset delta."""
_ONE_BYTE_LENGTH: Final = 64


class AclRun(NamedTuple):
    """Records one after another, each of which binds an ACL to an id."""

    ids: list[Uuid]
    acls: list[Acl]


AnyMessage = Message | ControlMessage | Undecodable
Part = AnyMessage | AclRun | UnreadRun

_Fields = tuple[object, ...]
"""The first two fields of an ``Acl``, or the other five."""
_Unpack = Callable[[bytes, int], tuple[bytes, bytes, Uuid, bytes, bytes]]
"""Offset delta with what is beside it, what stands between it and the id, the id, and the
two parts after it."""
_Shape = tuple[bytes, int, int, dict[int, _Unpack]]
"""Of the plain records of one length: what stands between offset delta and id, where the
name's length does, the record's size, and what unpacks it, by the name's length. Place and
size are counted from where the record's length stands."""


def numbered(parts: Iterable[Part], offset: int) -> Iterator[tuple[int, Part]]:
    """Each of ``parts`` with the offset of its first record, from ``offset`` on."""
    for part in parts:
        yield offset, part
        if isinstance(part, AclRun):
            offset += len(part.ids)
        else:
            offset += part.records if isinstance(part, UnreadRun) else 1


def messages_of(parts: Iterable[Part]) -> list[AnyMessage]:
    """The message of every record in order; ``UNREAD_RECORD`` for one that was not decoded."""
    messages: list[Any] = []
    for part in parts:
        if isinstance(part, AclRun):
            messages += map(record_of, part.ids, part.acls)
        elif isinstance(part, UnreadRun):
            messages += [UNREAD_RECORD] * part.records
        else:
            messages.append(part)
    return messages


class _NotPlain(Exception):
    """For a record that goes the ordinary way."""


_texts: dict[bytes, str] = {}
_heads: dict[bytes, _Fields] = {}
_ends: dict[bytes, _Fields] = {}
_shapes_by_delta_size: dict[int, dict[int, _Shape]] = {3: {}, 4: {}, 5: {}}
_first_deltas: list[bytes] = []


def decode_parts(payload: bytes, count: int, unread: UnreadTypes | None = None) -> list[Part]:
    """What ``count`` records say, in order; ``MalformedRecord`` if they are missing.

    Records of the types ``unread`` are not decoded.
    """
    parts: list[Part] = []
    run = AclRun([], [])
    deltas = _deltas(min(count, len(payload) // SMALLEST))
    index = at = 0
    while index < count:
        if unread is not None:
            at, wanted = unread.pass_over(payload, at, index, deltas)
            if wanted > index:
                parts.append(UnreadRun(wanted - index))
                index = wanted
                continue
        plain = plain_value(payload, at, deltas[index]) if index < len(deltas) else None
        if plain is None:
            record, at = read_record(payload, at, index)
            why = refusal(record, is_control=False)
            value = record.value or b""
            message = decode_value(value)[1]
            parts.append(message if why is None else refused(message, value, why))
            index += 1
            continue
        value, end = plain
        if value.startswith(_ACL_FRAME):
            at = _read_plain(payload, at, index, deltas, run)
            if run.ids:
                parts.append(run)
                index += len(run.ids)
                run = AclRun([], [])
                continue
        parts.append(decode_value(value)[1])
        index += 1
        at = end
    check_end(payload, at, count)
    return parts


def _read_plain(payload: bytes, at: int, start: int, deltas: list[bytes], run: AclRun) -> int:
    """Adds to ``run`` the records from number ``start`` on, which begins at ``at``, up to
    the first that is not plain; returns where that one begins. ``deltas`` are of as many
    records as there may be, from number 0 on."""
    ids, acls = run
    new, acl = tuple.__new__, Acl
    heads, ends = _heads, _ends
    count = len(deltas)
    try:
        for first, last, delta_size in _SPANS:
            shapes = _shapes_by_delta_size[delta_size]
            for index in range(max(first, start), min(last, count)):
                length = payload[at]
                if length >= 0x80:
                    length |= payload[at + 1] << 8
                shape = shapes.get(length) or _learn_shape(shapes, length, delta_size)
                between, name_at, size, layouts = shape
                name_size = payload[at + name_at]
                unpack = layouts.get(name_size) or _learn_layout(shape, delta_size, name_size)
                delta, found, id_, raw_head, raw_end = unpack(payload, at)
                if delta != deltas[index] or found != between:
                    return at
                head = heads.get(raw_head) or _learn_head(raw_head)
                end = ends.get(raw_end) or _learn_end(raw_end)
                acls.append(new(acl, head + end))
                ids.append(id_)
                at += size
    except (LookupError, struct.error, _NotPlain):
        pass
    return at


def _deltas(count: int) -> list[bytes]:
    """Attributes, timestamp delta and offset delta of so many plain records; not of those
    after the last that can be read so."""
    global _first_deltas
    known = _first_deltas
    count = min(count, _SPANS[-1][1])
    if len(known) < count:
        known = _first_deltas = [*known, *map(plain_start, range(len(known), count))]
    return known[:count]


def _learn_shape(shapes: dict[int, _Shape], length: int, delta_size: int) -> _Shape:
    """``length`` is the one or two bytes of a record's length, the first one lowest."""
    low, high = length & 0xFF, length >> 8
    size = (low & 0x7F | high << 7) >> 1
    if low & 1 or high >= 0x80 or (low >= 0x80 and high == 0):
        raise _NotPlain
    value_size = size - delta_size - 3
    if value_size >= _ONE_BYTE_LENGTH:
        value_size -= 1
    between = bytearray()
    write_varint(between, -1)
    write_varint(between, value_size)
    if delta_size + len(between) + value_size + 1 != size:
        raise _NotPlain
    between += _ACL_FRAME
    length_size = 2 if high else 1
    name_at = length_size + delta_size + len(between) + _ID_SIZE + 1
    if len(shapes) >= MAX_SHAPES:
        shapes.clear()
    shape = shapes[length] = (bytes(between), name_at, length_size + size, {})
    return shape


def _learn_layout(shape: _Shape, delta_size: int, name_size: int) -> _Unpack:
    """``name_size`` counts the byte that says it."""
    between, name_at, size, layouts = shape
    length_size = name_at - 1 - _ID_SIZE - len(between) - delta_size
    end_size = size - name_at - name_size
    if not name_size or name_size >= 0x80 or end_size <= 0:
        raise _NotPlain
    layout = struct.Struct(
        f"{length_size}x{delta_size}s{len(between)}s{_ID_SIZE}s{1 + name_size}s{end_size}s"
    )
    unpack = layouts[name_size] = layout.unpack_from
    return unpack


def _learn_head(raw: bytes) -> _Fields:
    """``raw`` is the resource type and the name."""
    resource_type = BOUND_RESOURCE_TYPES[raw[0]]
    if len(_heads) >= MAX_REMEMBERED:
        _heads.clear()
    head = _heads[raw] = (resource_type, _text(raw[1:]))
    return head


def _learn_end(raw: bytes) -> _Fields:
    """``raw`` is what follows the name in a plain record, to the record's last byte."""
    host_at = 1 + raw[1]
    operation_at = host_at + raw[host_at]
    if len(raw) != operation_at + 4 or not raw.endswith(_NO_TAGGED_FIELDS_NOR_HEADERS):
        raise _NotPlain
    if len(_ends) >= MAX_REMEMBERED:
        _ends.clear()
    end = _ends[raw] = (
        BOUND_PATTERN_TYPES[raw[0]],
        _shared_text(raw[1:host_at]),
        _shared_text(raw[host_at:operation_at]),
        BOUND_OPERATIONS[raw[operation_at]],
        BOUND_PERMISSION_TYPES[raw[operation_at + 1]],
    )
    return end


def _shared_text(raw: bytes) -> str:
    """The text of a principal or host: one object wherever it occurs."""
    text = _texts.get(raw)
    if text is None:
        if len(_texts) >= MAX_REMEMBERED:
            _texts.clear()
        text = _texts[raw] = _text(raw)
    return text


def _text(raw: bytes) -> str:
    """``raw`` is a compact string, its length of one byte included."""
    if not raw or raw[0] != len(raw) or raw[0] >= 0x80:
        raise _NotPlain
    text = decode_text(raw[1:])
    if REPLACEMENT in text:
        raise _NotPlain
    return text

"""The hot path of replay: decodes the records of a batch, with a fast path for ACLs.

A log with many ACLs has mostly *plain ACLs*. These are plain records (see ``record``) with known
codes, no tagged fields, and valid texts of at most 126 bytes. The fast path turns consecutive plain
ACLs into one ``AclRun``, without a message object for each. ``partition_fast_decode`` is another
fast path. The general code (``record``, ``frame``) reads any other record, and it alone reports
errors.

The record of a plain ACL is

    length | attributes 0, timestamp delta 0, offset delta | key -1, value length, 1, 18, 0
    | id | resource type | name | pattern type, principal, host, operation, permission, 0, 0

The lengths of the record and of the name determine the position of each part, so each pair of
lengths has a ``struct``. Many records have the same last part, so decoded last parts are cached.

This module must not know files.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from metalog.acl import Acl
from metalog.ids import Uuid
from metalog.records.acl_codes import (
    ACL_OPERATIONS,
    ACL_PATTERN_TYPES,
    ACL_PERMISSION_TYPES,
    ACL_RESOURCE_TYPES,
    record_of,
)
from metalog.records.fast_decode.partition_fast_decode import (
    CHANGE_FRAME,
    NotPlain,
    PartitionChangeRun,
    read_changes,
)
from metalog.records.frame import FRAME_VERSION, Undecodable, decode_value, refused
from metalog.records.message import ControlMessage, Message
from metalog.records.messages.access_control_entry_record import AccessControlEntryRecord
from metalog.records.primitives.text import REPLACEMENT, decode_text
from metalog.records.primitives.varint import write_varint
from metalog.records.record import (
    MIN_RECORD_SIZE,
    START_SIZES,
    check_end,
    plain_starts,
    plain_value,
    read_record,
    refusal,
)
from metalog.records.unread import UNREAD_RECORD, UnreadRun, UnreadTypes

MAX_CACHED = 1 << 16
"""Maximum entries per cache. A full cache is emptied."""
MAX_SHAPES = 1 << 9
"""Maximum entries per cache of shapes."""

_ACL_FRAME: Final = bytes((FRAME_VERSION, AccessControlEntryRecord.API_KEY, 0))
_ID_SIZE: Final = 16
_NO_TAGGED_FIELDS_NOR_HEADERS: Final = b"\x00\x00"
_MIN_TWO_BYTE_LENGTH: Final = 64
_NAME_SIZES: Final = 0x80
"""The number of one-byte name lengths."""


class AclRun(NamedTuple):
    """Consecutive ACL records, as ids and ACLs."""

    ids: list[Uuid]
    acls: list[Acl]


AnyMessage = Message | ControlMessage | Undecodable
Part = AnyMessage | AclRun | PartitionChangeRun | UnreadRun

_FieldsAfterName = tuple[object, ...]
_Unpack = Callable[[bytes, int], tuple[bytes, bytes, Uuid, int, bytes, bytes]]
"""Returns the parts of a record: attributes and deltas, the bytes up to the id, the id, the
resource type, the name, and all bytes after the name."""
_Shape = tuple[bytes, int, int, list[_Unpack | None]]
"""Four facts about the plain ACLs of one record length: the bytes between offset delta and id, the
position of the name's length, the size of the record, and the ``_Unpack`` for each name length.
Position and size count from the first byte of the record."""


def numbered(parts: Iterable[Part], offset: int) -> Iterator[tuple[int, Part]]:
    """Each of ``parts`` with the offset of its first record; the first part has ``offset``."""
    for part in parts:
        yield offset, part
        offset += record_count(part)


def record_count(part: Part) -> int:
    if isinstance(part, AclRun):
        return len(part.ids)
    if isinstance(part, PartitionChangeRun):
        return len(part.changes)
    return part.record_count if isinstance(part, UnreadRun) else 1


def messages_of(parts: Iterable[Part]) -> list[AnyMessage]:
    """The message of every record in order; ``UNREAD_RECORD`` if a record was not decoded."""
    messages: list[Any] = []
    for part in parts:
        if isinstance(part, AclRun):
            messages += map(record_of, part.ids, part.acls)
        elif isinstance(part, PartitionChangeRun):
            messages += part.messages()
        elif isinstance(part, UnreadRun):
            messages += [UNREAD_RECORD] * part.record_count
        else:
            messages.append(part)
    return messages


_texts: dict[bytes, str] = {}
_names: dict[str, str] = {}
_ends: dict[bytes, _FieldsAfterName] = {}
_shapes_by_start_size: dict[int, dict[int, _Shape]] = {3: {}, 4: {}, 5: {}}


def decode_parts(payload: bytes, count: int, unread: UnreadTypes | None = None) -> list[Part]:
    """Decode ``count`` records in order; ``MalformedRecord`` if a record or ``count`` is wrong."""
    parts: list[Part] = []
    starts = plain_starts(min(count, len(payload) // MIN_RECORD_SIZE))
    index = at = 0
    while index < count:
        if unread is not None:
            at, next_index = unread.skip(payload, at, index, starts)
            if next_index > index:
                parts.append(UnreadRun(next_index - index))
                index = next_index
                continue
        plain = plain_value(payload, at, starts[index]) if index < len(starts) else None
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
            run = AclRun([], [])
            at = _read_acls(payload, at, index, starts, run)
            if run.ids:
                parts.append(run)
                index += len(run.ids)
                continue
        elif value.startswith(CHANGE_FRAME):
            at, changes = read_changes(payload, at, index, starts)
            if changes:
                parts.append(PartitionChangeRun(changes))
                index += len(changes)
                continue
        parts.append(decode_value(value)[1])
        index += 1
        at = end
    check_end(payload, at, count)
    return parts


def _read_acls(payload: bytes, at: int, index: int, starts: list[bytes], run: AclRun) -> int:
    """Add plain ACLs to ``run``, beginning with record number ``index`` at byte ``at``.

    Returns the position after these ACLs. ``starts`` are the batch's ``plain_starts``.
    """
    ids, acls = run
    new, acl = tuple.__new__, Acl
    resource_types, names, ends = ACL_RESOURCE_TYPES, _names, _ends
    last_name, name = None, ""
    try:
        for first, stop, start_size in START_SIZES:
            shapes = _shapes_by_start_size[start_size]
            for start in starts[max(first, index) : stop]:
                raw_length = payload[at]
                if raw_length >= 0x80:
                    raw_length |= payload[at + 1] << 8
                try:
                    shape = shapes[raw_length]
                except KeyError:
                    shape = _cache_shape(shapes, raw_length, start_size)
                between, name_at, size, unpackers = shape
                name_size = payload[at + name_at]
                unpack = unpackers[name_size] or _cache_unpack(shape, start_size, name_size)
                read_start, prefix, id_, resource_type, raw_name, raw_end = unpack(payload, at)
                if read_start != start or prefix != between:
                    return at
                if raw_name != last_name:
                    last_name, name = raw_name, raw_name.decode()
                    name = names.get(name) or _cache_name(name)
                head = resource_types[resource_type], name
                end = ends.get(raw_end) or _cache_end(raw_end)
                acls.append(new(acl, head + end))
                ids.append(id_)
                at += size
    except (LookupError, UnicodeDecodeError, struct.error, NotPlain):
        pass
    return at


def _cache_shape(shapes: dict[int, _Shape], raw_length: int, start_size: int) -> _Shape:
    """``raw_length`` has the bytes of the record length's varint, as a little-endian number."""
    low, high = raw_length & 0xFF, raw_length >> 8
    size = (low & 0x7F | high << 7) >> 1
    if low & 1 or high >= 0x80 or (low >= 0x80 and high == 0):
        raise NotPlain
    value_size = size - start_size - 3
    if value_size >= _MIN_TWO_BYTE_LENGTH:
        value_size -= 1
    between = bytearray()
    write_varint(between, -1)
    write_varint(between, value_size)
    if start_size + len(between) + value_size + 1 != size:
        raise NotPlain
    between += _ACL_FRAME
    length_size = 2 if high else 1
    name_at = length_size + start_size + len(between) + _ID_SIZE + 1
    if len(shapes) >= MAX_SHAPES:
        shapes.clear()
    shape = shapes[raw_length] = (bytes(between), name_at, length_size + size, [None] * _NAME_SIZES)
    return shape


def _cache_unpack(shape: _Shape, start_size: int, name_size: int) -> _Unpack:
    """``name_size`` includes the byte of the name's length."""
    between, name_at, size, unpackers = shape
    length_size = name_at - 1 - _ID_SIZE - len(between) - start_size
    end_size = size - name_at - name_size
    if not name_size or end_size <= 0:
        raise NotPlain
    layout = struct.Struct(
        f"{length_size}x{start_size}s{len(between)}s{_ID_SIZE}sBx{name_size - 1}s{end_size}s"
    )
    unpack = unpackers[name_size] = layout.unpack_from
    return unpack


def _cache_name(name: str) -> str:
    _refuse_doubtful(name)
    if len(_names) >= MAX_CACHED:
        _names.clear()
    _names[name] = name
    return name


def _cache_end(raw: bytes) -> _FieldsAfterName:
    """``raw`` has all bytes after the name."""
    host_at = 1 + raw[1]
    operation_at = host_at + raw[host_at]
    if len(raw) != operation_at + 4 or not raw.endswith(_NO_TAGGED_FIELDS_NOR_HEADERS):
        raise NotPlain
    if len(_ends) >= MAX_CACHED:
        _ends.clear()
    end = _ends[raw] = (
        ACL_PATTERN_TYPES[raw[0]],
        _shared_text(raw[1:host_at]),
        _shared_text(raw[host_at:operation_at]),
        ACL_OPERATIONS[raw[operation_at]],
        ACL_PERMISSION_TYPES[raw[operation_at + 1]],
    )
    return end


def _shared_text(raw: bytes) -> str:
    """The text of a principal or host. Equal cached texts share one object."""
    text = _texts.get(raw)
    if text is None:
        if len(_texts) >= MAX_CACHED:
            _texts.clear()
        text = _texts[raw] = _text(raw)
    return text


def _text(raw: bytes) -> str:
    """``raw`` must be a compact string with a one-byte length."""
    if not raw or raw[0] != len(raw) or raw[0] >= 0x80:
        raise NotPlain
    text = decode_text(raw[1:])
    _refuse_doubtful(text)
    return text


def _refuse_doubtful(text: str) -> None:
    if REPLACEMENT in text:
        raise NotPlain

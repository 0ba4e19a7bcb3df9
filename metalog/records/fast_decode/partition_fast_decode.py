"""Fast path of replay: decodes consecutive partition changes without a message object for each.

A cluster with many partitions writes mostly partition changes. A *plain change* is a plain record
(see ``record``) whose lengths have one byte each. It changes only the in-sync replicas, the leader
or both. The new list of in-sync replicas is not empty. The record of a plain change is

    length | attributes 0, timestamp delta 0, offset delta | key -1, value length, 1, 5, version
    | partition, topic
    | number of tags; tag 0, its size, number of replicas, replicas; tag 1, its size 4, leader; 0

The record's length determines the position of each part, so each length has a ``struct``. Many
records have the same last part, so decoded last parts are cached. The general code reads any
other change. This module must not know topics or images.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from metalog.ids import Uuid
from metalog.records.frame import FRAME_VERSION
from metalog.records.messages.partition_change_record import PartitionChangeRecord
from metalog.records.primitives.fields import INT32_ARRAYS
from metalog.records.record import START_SIZES

MAX_CACHED: Final = 1 << 12
"""Maximum entries in the cache of changed fields. A full cache is emptied."""

CHANGE_FRAME: Final = bytes((FRAME_VERSION, PartitionChangeRecord.API_KEY))
_AROUND_VALUE: Final = 4
"""One byte each for the lengths of record, key and value, and for the number of headers."""
_PREFIX_SIZE: Final = 5
"""The size of the key's length, the value's length and the frame."""
_BEFORE_TAGS: Final = 3 + 4 + 16
"""The size of the frame, the partition and the topic."""
_ISR_TAG: Final = 0
_LEADER_TAG: Final = b"\x01\x04"
_LEADER: Final = struct.Struct(">i")
_NO_HEADERS: Final = b"\x00"
_SAME_LEADER: Final = PartitionChangeRecord().leader

Fields = tuple[tuple[int, ...] | None, int]
"""The in-sync replicas (None: no change), and the leader (-2: no change)."""
Change = tuple[Uuid, int, Fields]
"""The topic, the partition's number, and the changed fields."""


class PartitionChangeRun(NamedTuple):
    """Consecutive partition changes that change only in-sync replicas and leaders."""

    changes: list[Change]

    def messages(self) -> list[PartitionChangeRecord]:
        return [
            PartitionChangeRecord(number, topic_id, isr, leader)
            for topic_id, number, (isr, leader) in self.changes
        ]


class NotPlain(Exception):
    """The record is not plain: the general code must read it."""


class _Form(NamedTuple):
    """The form of all plain changes of one length.

    A prefix is the bytes between offset delta and partition; each record version has its own.
    ``unpack`` returns attributes and deltas, prefix, partition, topic and encoded fields.
    """

    newest_prefix: bytes
    prefixes: frozenset[bytes]
    size: int
    unpack: Callable[[bytes, int], tuple[bytes, bytes, int, Uuid, bytes]]


def _forms(start_size: int) -> dict[int, _Form]:
    """The form for each record length, by the byte that encodes this length."""
    forms = {}
    without_tags = start_size + _AROUND_VALUE + _BEFORE_TAGS
    for size in range(without_tags + 1, 65):
        value_size = size - start_size - _AROUND_VALUE
        prefixes = [
            bytes((1, value_size << 1, *CHANGE_FRAME, version))
            for version in PartitionChangeRecord.VERSIONS
        ]
        layout = struct.Struct(f">x{start_size}s{_PREFIX_SIZE}si16s{size - without_tags + 1}s")
        forms[size - 1 << 1] = _Form(prefixes[-1], frozenset(prefixes), size, layout.unpack_from)
    return forms


_forms_by_start_size: Final = {start_size: _forms(start_size) for _, _, start_size in START_SIZES}
_replicas: dict[tuple[int, ...], tuple[int, ...]] = {}
_fields: dict[bytes, Fields] = {}


def read_changes(
    payload: bytes, at: int, index: int, starts: list[bytes]
) -> tuple[int, list[Change]]:
    """Read plain changes, beginning with record number ``index`` at byte ``at``.

    Returns the position after these changes, and the changes. ``starts`` are the batch's
    ``plain_starts``.
    """
    changes: list[Change] = []
    cached, add = _fields, changes.append
    try:
        for first, stop, start_size in START_SIZES:
            forms = _forms_by_start_size[start_size]
            for start in starts[max(first, index) : stop]:
                newest, prefixes, size, unpack = forms[payload[at]]
                read_start, prefix, number, topic_id, raw = unpack(payload, at)
                if read_start != start or (prefix != newest and prefix not in prefixes):
                    return at, changes
                add((topic_id, number, cached.get(raw) or _cache_fields(raw)))
                at += size
    except (LookupError, struct.error, NotPlain):
        pass
    return at, changes


def _cache_fields(raw: bytes) -> Fields:
    """``raw`` has all bytes after the topic. Equal cached lists of replicas share one object."""
    count, at = raw[0], 1
    isr, leader = None, _SAME_LEADER
    if count and raw[1] == _ISR_TAG:
        length = raw[3]
        layout = INT32_ARRAYS[length]
        if length <= 1 or raw[2] != layout.size + 1:
            raise NotPlain
        isr = layout.unpack_from(raw, 4)
        at, count = 4 + layout.size, count - 1
    if raw[at : at + 2] == _LEADER_TAG:
        leader = _LEADER.unpack_from(raw, at + 2)[0]
        at, count = at + 2 + _LEADER.size, count - 1
    if count or raw[at:] != _NO_HEADERS:
        raise NotPlain
    if len(_fields) >= MAX_CACHED:
        _fields.clear()
        _replicas.clear()
    if isr is not None:
        isr = _replicas.setdefault(isr, isr)
    fields = _fields[raw] = (isr, leader)
    return fields

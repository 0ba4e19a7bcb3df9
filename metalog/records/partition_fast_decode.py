"""Decodes consecutive partition changes, most of a controller's log, without a message for each.

A change is plain if it is a plain record (``record.plain_value``) with lengths of one byte that
changes nothing but the in-sync replicas, or the leader, or both in this order:

    length | attributes 0, timestamp delta 0, offset delta | key -1, value length, 1, 5, version
    | partition | topic | number of tags, tag 0, its size, number of replicas | replicas
    | tag 1, its size 4 | leader | 0

The tags determine the position of each part, so there is one ``struct`` for each combination of
them. Any other change is read by the general code. This module must not know topics or images.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from metalog.ids import Uuid
from metalog.records.frame import FRAME_VERSION
from metalog.records.messages.partition_change_record import PartitionChangeRecord
from metalog.records.primitives.fields import INT32_ARRAYS
from metalog.records.record import MOST_STARTS, plain_value

MAX_REMEMBERED: Final = 1 << 12
"""The size of each cache (forms, lists of replicas, leaders); a full cache is emptied."""

CHANGE_FRAME: Final = bytes((FRAME_VERSION, PartitionChangeRecord.API_KEY))
_SPANS: Final = ((0, 64, 3), (64, 8192, 4), (8192, MOST_STARTS, 5))
"""Ranges of record numbers (first, end), and the size of attributes, timestamp delta and offset
delta in each range."""
_BEFORE_VALUE: Final = 3
"""The size of the length, the key's and the value's, if each has one byte."""
_BEFORE_TAGS: Final = 3 + 4 + 16
"""The size of the frame, the partition and the topic."""
_HEAD_SIZE: Final = 4
"""The number of tags, the first tag, its size, and the number of replicas lead to the form."""
_BETWEEN: Final = 5
"""The size of the key's and the value's length, and the frame."""
_ISR_TAG: Final = 0
_LEADER_TAG: Final = b"\x01\x04"
_LEADER_SIZE: Final = 4
_SAME_LEADER: Final = PartitionChangeRecord().leader

Change = tuple[Uuid, int, tuple[int, ...] | None, int]
"""A topic, a partition, the in-sync replicas or None, and the leader or -2: None and -2 stand for
no change."""

_Unpack = Callable[
    [bytes, int], tuple[int, bytes, bytes, int, Uuid, bytes, bytes, bytes, bytes, int]
]


class PartitionChangeRun(NamedTuple):
    """Consecutive partition changes of nothing but in-sync replicas and leaders."""

    changes: list[Change]

    def messages(self) -> list[PartitionChangeRecord]:
        return [
            PartitionChangeRecord(number, topic_id, isr, leader)
            for topic_id, number, isr, leader in self.changes
        ]


class _NotPlain(Exception):
    """The record is not plain: the general code must read it."""


class _Form(NamedTuple):
    """The constant parts of a record, its size, and the function that unpacks it."""

    length: int
    between: bytes
    tags: bytes
    leader_tag: bytes
    size: int
    unpack: _Unpack


_forms_by_delta_size: dict[int, dict[bytes, _Form]] = {3: {}, 4: {}, 5: {}}
_replicas: dict[bytes, tuple[int, ...] | None] = {}
_leaders: dict[bytes, int] = {}


def read_changes(
    payload: bytes, at: int, start: int, deltas: list[bytes]
) -> tuple[int, list[Change]]:
    """The plain changes from record number ``start`` at byte ``at`` to the first record that is no
    plain change, and the position of that one.

    ``deltas`` has an entry for each possible record, from number 0 on.
    """
    changes: list[Change] = []
    replicas, leaders, add = _replicas, _leaders, changes.append
    try:
        for first, last, delta_size in _SPANS:
            forms = _forms_by_delta_size[delta_size]
            head_at = delta_size + _BEFORE_VALUE + _BEFORE_TAGS
            head_end = head_at + _HEAD_SIZE
            for index in range(max(first, start), min(last, len(deltas))):
                head, delta = payload[at + head_at : at + head_end], deltas[index]
                form = forms.get(head) or _learn(forms, head, payload, at, delta)
                length, between, tags, leader_tag, size, unpack = form
                a, b, c, number, topic_id, d, raw_isr, e, raw_leader, headers = unpack(payload, at)
                if (
                    c != between
                    or d != tags
                    or e != leader_tag
                    or a != length
                    or b != delta
                    or headers
                ):
                    form = _learn(forms, head, payload, at, delta)
                    _, _, _, number, topic_id, _, raw_isr, _, raw_leader, _ = form[5](payload, at)
                    size = form[4]
                try:
                    isr, leader = replicas[raw_isr], leaders[raw_leader]
                except KeyError:
                    isr, leader = _learn_values(raw_isr, raw_leader)
                add((topic_id, number, isr, leader))
                at += size
    except (LookupError, struct.error, _NotPlain):
        pass
    return at, changes


def _learn(forms: dict[bytes, _Form], head: bytes, payload: bytes, at: int, delta: bytes) -> _Form:
    """The form of the plain change at ``at``, which is cached for its ``head``."""
    plain = plain_value(payload, at, delta)
    if plain is None:
        raise _NotPlain
    value, end = plain
    size, value_at = end - at, len(delta) + _BEFORE_VALUE
    if size - value_at - 1 != len(value) or value[: len(CHANGE_FRAME)] != CHANGE_FRAME:
        raise _NotPlain
    if value[len(CHANGE_FRAME)] not in PartitionChangeRecord.VERSIONS:
        raise _NotPlain
    count, place = value[_BEFORE_TAGS], _BEFORE_TAGS + 1
    isr_size = leader_size = 0
    if count and value[place] == _ISR_TAG:
        length = value[place + 2]
        isr_size = INT32_ARRAYS[length].size
        if length <= 1 or value[place + 1] != isr_size + 1:
            raise _NotPlain
        place, count = place + 3 + isr_size, count - 1
    tags = value[_BEFORE_TAGS : place - isr_size]
    leader_tag = value[place : place + len(_LEADER_TAG)]
    if leader_tag == _LEADER_TAG:
        leader_size = _LEADER_SIZE
        place, count = place + len(leader_tag) + leader_size, count - 1
    if count or place != len(value):
        raise _NotPlain
    layout = struct.Struct(
        f">B{len(delta)}s{_BETWEEN}si16s{len(tags)}s{isr_size}s{len(leader_tag)}s{leader_size}sB"
    )
    if len(forms) >= MAX_REMEMBERED:
        forms.clear()
    between_at = at + 1 + len(delta)
    between = payload[between_at : between_at + _BETWEEN]
    form = forms[head] = _Form(payload[at], between, tags, leader_tag, size, layout.unpack_from)
    return form


def _learn_values(raw_isr: bytes, raw_leader: bytes) -> tuple[tuple[int, ...] | None, int]:
    """Decode and cache the in-sync replicas and the leader; no bytes stand for no change."""
    if max(len(_replicas), len(_leaders)) >= MAX_REMEMBERED:
        _replicas.clear()
        _leaders.clear()
    isr = _replicas[raw_isr] = INT32_ARRAYS[len(raw_isr) // 4 + 1].unpack(raw_isr) or None
    leader = int.from_bytes(raw_leader, signed=True) if raw_leader else _SAME_LEADER
    _leaders[raw_leader] = leader
    return isr, leader

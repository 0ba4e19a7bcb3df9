"""The ACLs of a log at every moment of its history.

A moment is an offset (all records below it, as in a snapshot's name) or a time: then the
longest prefix of the log before the first batch later than it. Sources: KIP-801 for records
and ids, KIP-866 for transactions. This module must not know where changes are read from, nor
how a question is decided (``decision_timeline`` does).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, groupby
from operator import attrgetter
from typing import NamedTuple

from metalog.acl import Acl
from metalog.errors import InvalidMoment
from metalog.ids import Uuid


class TimelineChange(NamedTuple):
    """The record at ``offset`` binds ``acl`` to ``id``, or, with None, unbinds the id.

    ``time_ms`` is the latest of any batch up to the one by which it took effect, so that
    times never fall. ``ended_by`` is the offset that ended its transaction, if it was in one.
    """

    offset: int
    id: Uuid
    acl: Acl | None
    time_ms: int = 0
    ended_by: int | None = None

    @property
    def at(self) -> int:
        """The first offset (exclusive) whose state has this change."""
        return (self.offset if self.ended_by is None else self.ended_by) + 1


class Edge(NamedTuple):
    """Where an ACL came or went: the first offset (exclusive) and time that show it."""

    at: int
    time_ms: int


class AclLifetime(NamedTuple):
    """``acl`` was bound to ``id`` from ``begin`` on, before ``end``.

    A ``begin`` of None is before the history begins, an ``end`` of None has not come.
    """

    id: Uuid
    acl: Acl
    begin: Edge | None
    end: Edge | None

    def holds_at(self, offset: int) -> bool:
        """Whether the state at ``offset`` (exclusive), which the history reaches, has it."""
        begun = self.begin is None or self.begin.at <= offset
        return begun and (self.end is None or offset < self.end.at)


def at_once(changes: Iterable[TimelineChange]) -> Iterator[list[TimelineChange]]:
    """The changes that take effect together, in their order."""
    for _, group in groupby(changes, key=attrgetter("at")):
        yield list(group)


def lives(base: Mapping[Uuid, Acl], changes: Iterable[TimelineChange]) -> Iterator[AclLifetime]:
    """Each life as it ends, then those that last. One that began and ended at one moment,
    in a transaction, never was."""
    alive: dict[Uuid, tuple[Acl, Edge | None]] = {uuid: (acl, None) for uuid, acl in base.items()}
    for change in changes:
        edge = Edge(change.at, change.time_ms)
        before = alive.pop(change.id, None)
        if before is not None and before[1] != edge:
            yield AclLifetime(change.id, *before, edge)
        if change.acl is not None:
            alive[change.id] = change.acl, edge
    for uuid, (acl, begin) in alive.items():
        yield AclLifetime(uuid, acl, begin, None)


class Timeline:
    """A history of ACLs: its versions, numbered from 0, and the lives of ACLs across them.

    The state at ``start`` is version 0; before it nothing is known. Memory goes by the lives,
    whatever the number of versions.
    """

    def __init__(self, start: Edge, lives: Iterable[AclLifetime]) -> None:
        self.lives = tuple(lives)
        edges = {edge.at: edge for life in self.lives for edge in life[2:] if edge is not None}
        later = sorted(edge for at, edge in edges.items() if at > start.at)
        self.offsets = (start.at, *(edge.at for edge in later))
        self.times = (start.time_ms, *accumulate((edge.time_ms for edge in later), max))
        self._numbers = {offset: number for number, offset in enumerate(self.offsets)}

    def __len__(self) -> int:
        """How many versions there are."""
        return len(self.offsets)

    def span(self, life: AclLifetime) -> tuple[int, int]:
        """The first version that has it, and the first after it that has not."""
        begin = 0 if life.begin is None else self._numbers.get(life.begin.at, 0)
        end = len(self) if life.end is None else self._numbers.get(life.end.at, 0)
        return begin, end

    def version_at(self, offset: int) -> int:
        """The version after all records below ``offset``; ``InvalidMoment`` before the start."""
        version = bisect_right(self.offsets, offset) - 1
        if version < 0:
            raise InvalidMoment(
                f"offset {offset} is before the history, which begins at {self.offsets[0]}"
            )
        return version

    def version_as_of(self, epoch_ms: int) -> int:
        """The version in force at a time; ``InvalidMoment`` before the start."""
        version = bisect_right(self.times, epoch_ms) - 1
        if version < 0:
            raise InvalidMoment(
                f"{epoch_ms} ms is before the history, which begins at {self.times[0]} ms"
            )
        return version

    def alive(self, version: int) -> Iterator[AclLifetime]:
        """The lives that a version has."""
        for life in self.lives:
            begin, end = self.span(life)
            if begin <= version < end:
                yield life

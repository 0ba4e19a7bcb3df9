"""The ACLs of a log at every moment of its history, and what was decided then.

A moment is an offset (all records below it, as in a snapshot's name) or a time: then the
longest prefix of the log before the first batch later than it. Each version is an index
that shares with the one before what did not change. Sources: KIP-801 for records and ids,
KIP-866 for transactions. This module must not know where changes are read from.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from authorizer.index import AclIndex, IndexWriter
from metalog.acl import Acl
from metalog.errors import InvalidMoment
from metalog.ids import Uuid


class AclChange(NamedTuple):
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


class Life(NamedTuple):
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


def at_once(changes: Iterable[AclChange]) -> Iterator[list[AclChange]]:
    """The changes that take effect together, in their order."""
    for _, group in groupby(changes, key=attrgetter("at")):
        yield list(group)


def lives(base: Mapping[Uuid, Acl], changes: Iterable[AclChange]) -> Iterator[Life]:
    """Each life as it ends, then those that last. One that began and ended at one moment,
    in a transaction, never was."""
    alive: dict[Uuid, tuple[Acl, Edge | None]] = {uuid: (acl, None) for uuid, acl in base.items()}
    for change in changes:
        edge = Edge(change.at, change.time_ms)
        before = alive.pop(change.id, None)
        if before is not None and before[1] != edge:
            yield Life(change.id, *before, edge)
        if change.acl is not None:
            alive[change.id] = change.acl, edge
    for uuid, (acl, begin) in alive.items():
        yield Life(uuid, acl, begin, None)


class Timeline:
    """Every version of the ACLs since offset ``start``, at which ``base`` was bound.

    ``start_ms`` is the time of that state; before it nothing is known. Costs one version, of
    a few KiB, for each moment at which something changed.
    """

    def __init__(
        self,
        start: int,
        base: Mapping[Uuid, Acl],
        changes: Iterable[AclChange],
        *,
        start_ms: int = 0,
    ) -> None:
        writer = IndexWriter()
        writer.load(base.values())
        bound = dict(base)
        self._offsets = [start]
        self._times = [start_ms]
        self._versions = [writer.index]
        for group in at_once(changes):
            for change in group:
                writer.apply({change.id: change.acl}, bound)
                if change.acl is None:
                    bound.pop(change.id, None)
                else:
                    bound[change.id] = change.acl
            self._offsets.append(group[0].at)
            self._times.append(max(group[0].time_ms, self._times[-1]))
            self._versions.append(writer.index)

    def __len__(self) -> int:
        """How many versions there are."""
        return len(self._versions)

    def at_offset(self, offset: int) -> AclIndex:
        """The ACLs after all records below ``offset``; ``InvalidMoment`` before the start."""
        place = bisect_right(self._offsets, offset) - 1
        if place < 0:
            raise InvalidMoment(
                f"offset {offset} is before the history, which begins at {self._offsets[0]}"
            )
        return self._versions[place]

    def at_time(self, epoch_ms: int) -> AclIndex:
        """The ACLs as of a time; ``InvalidMoment`` before the start."""
        return self._versions[self.version_at(epoch_ms)]

    def version_at(self, epoch_ms: int) -> int:
        """The number of the version in force, the same for all times with the same answers."""
        place = bisect_right(self._times, epoch_ms) - 1
        if place < 0:
            raise InvalidMoment(
                f"{epoch_ms} ms is before the history, which begins at {self._times[0]} ms"
            )
        return place

    def spans(self) -> Iterator[tuple[Edge, Edge | None, AclIndex]]:
        """Each version with where it begins and where the next one does."""
        edges = [Edge(*pair) for pair in zip(self._offsets, self._times, strict=True)]
        yield from zip(edges, [*edges[1:], None], self._versions, strict=True)

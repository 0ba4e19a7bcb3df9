"""The ACLs of a log at every offset and time of its history.

An offset stands for the state after all records at lower offsets, as in a snapshot's name. A time
stands for the state before the first batch with a later timestamp. Sources: KIP-801 for records and
ids, KIP-868 for transactions. This module must not know where changes are read from, nor how a
question is decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, groupby
from operator import attrgetter
from typing import NamedTuple

from metalog.acl import Acl
from metalog.ids import Uuid


class TimelineChange(NamedTuple):
    """The record at ``offset`` gives ``acl`` the id ``id``, or removes the id if ``acl`` is None.

    ``time_ms`` is the highest timestamp of all batches up to the batch with which the change takes
    effect. ``ended_by`` is the offset of the record that ends the change's transaction, or None.
    """

    offset: int
    id: Uuid
    acl: Acl | None
    time_ms: int = 0
    ended_by: int | None = None

    @property
    def at(self) -> int:
        """The lowest offset whose state includes this change."""
        return (self.offset if self.ended_by is None else self.ended_by) + 1


class Edge(NamedTuple):
    """The start or end of an ACL's lifetime: the offset after the change, and the change's time."""

    at: int
    time_ms: int


class AclLifetime(NamedTuple):
    """``acl`` has the id ``id`` from ``begin`` until ``end``.

    ``begin`` is None for an ACL that is older than the history. ``end`` is None for an ACL that
    still exists at the end.
    """

    id: Uuid
    acl: Acl
    begin: Edge | None
    end: Edge | None

    def holds_at(self, offset: int) -> bool:
        """Whether the ACL is in the state at ``offset``."""
        begun = self.begin is None or self.begin.at <= offset
        return begun and (self.end is None or offset < self.end.at)


def taking_effect_together(changes: Iterable[TimelineChange]) -> Iterator[list[TimelineChange]]:
    for _, group in groupby(changes, key=attrgetter("at")):
        yield list(group)


def lifetimes(base: Mapping[Uuid, Acl], changes: Iterable[TimelineChange]) -> Iterator[AclLifetime]:
    """The lifetimes in the order of their ends. Lifetimes without an end come last.

    ``base`` has the ACLs before ``changes``. An ACL that one transaction adds and removes has no
    lifetime.
    """
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
    """The versions of a history of ACLs. A version is the state between two changes. Version 0 is
    the state at ``start``."""

    def __init__(self, start: Edge, lifetimes: Iterable[AclLifetime]) -> None:
        self.lifetimes = tuple(lifetimes)
        edges = {
            edge.at: edge
            for lifetime in self.lifetimes
            for edge in lifetime[2:]
            if edge is not None
        }
        later = sorted(edge for at, edge in edges.items() if at > start.at)
        self.offsets = (start.at, *(edge.at for edge in later))
        self.times = (start.time_ms, *accumulate((edge.time_ms for edge in later), max))
        self._numbers = {offset: number for number, offset in enumerate(self.offsets)}

    def __len__(self) -> int:
        return len(self.offsets)

    def span(self, lifetime: AclLifetime) -> tuple[int, int]:
        """The first version of the lifetime, and the first version after the lifetime."""
        begin = 0 if lifetime.begin is None else self._numbers.get(lifetime.begin.at, 0)
        end = len(self) if lifetime.end is None else self._numbers.get(lifetime.end.at, 0)
        return begin, end

    def alive(self, version: int) -> Iterator[AclLifetime]:
        """The lifetimes that contain ``version``."""
        for lifetime in self.lifetimes:
            begin, end = self.span(lifetime)
            if begin <= version < end:
                yield lifetime

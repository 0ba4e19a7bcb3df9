"""The cache of an authorizer's sessions: its limits, and its invalidation.

Each ACL change makes a new ``DecisionContext``. As long as few ACLs change, the new one keeps the
``RememberedSessions`` of the old one. Each changed ACL is noted under its principal. At its next
request, a session looks up the changed ACLs of its principals. A session with few requests is only
counted, in a table of bounded size.

This module must not know how a decision is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar

from metalog.acl import WILDCARD_PRINCIPAL, Acl

MOST_ENTRIES = 1 << 17
"""The cache has at most this many sessions, names and decisions; when full, it is emptied. Entries
for prefixes count too: otherwise each session could fill the memory with nested prefixes."""
MOST_BYTES = 1 << 27
"""The approximate size in bytes at which the cache is emptied: clients choose the sessions and
names, and can make them long."""
ENTRY_BYTES: Final = 160
"""The approximate size in bytes of a cached decision in CPython 3.11, without its text."""
CHARACTER_BYTES: Final = 4
"""A character has at most this many bytes. A text's length times this bounds its size, in a quarter
of ``getsizeof``'s time."""
ADMISSION_THRESHOLD = 16
"""A session is cached after this many requests: adding it costs approximately as much time as the
cache saves in this many."""
HIGHEST_THRESHOLD: Final = 64
"""The admission threshold doubles each time the cache is full, up to this, because more sessions
than fit are frequent, and those with the most requests should stay."""
MOST_CHANGES: Final = 64
"""At most this many successive changes keep the cache. A session can keep the index that it began
with, so this limits the memory of old indexes."""
FEWEST_COUNTERS: Final = 1 << 12
MOST_COUNTERS: Final = 1 << 18
_GROWTH: Final = 4
_HALVED: Final = bytes(count // 2 for count in range(256))

Identity = tuple[str, ...]
"""A session's host, its principal, and its additional principals."""
Session = TypeVar("Session")


class RememberedSessions(Generic[Session]):
    """The cached sessions. ``bounded`` are all dicts with counted entries, emptied together."""

    __slots__ = (
        "_answers",
        "_bytes",
        "_counted",
        "_counters",
        "_threshold",
        "_touched",
        "bounded",
        "sessions",
    )

    def __init__(self) -> None:
        self.sessions: dict[Identity, Session] = {}
        self.bounded: tuple[dict[Any, Any], ...] = ()
        self._touched: dict[str, list[tuple[int, Acl]]] = {}
        self._answers = self._bytes = self._counted = 0
        self._counters: bytearray | None = None
        self._threshold = ADMISSION_THRESHOLD

    def is_frequent(self, identity: Identity) -> bool:
        """Count a request; whether the session has reached the admission threshold.

        Sessions with colliding hashes share a counter. After as many requests as there are
        counters, all counts are halved. Up to its bound, the table then becomes four copies of
        itself, so a session's new slot holds its old count.
        """
        counters = self._counters
        if counters is None:
            counters = self._counters = bytearray(FEWEST_COUNTERS)
        slot = hash(identity) & len(counters) - 1
        count = counters[slot]
        if count >= self._threshold:
            return True
        counters[slot] = count + 1
        self._counted += 1
        if self._counted > len(counters):
            copies = _GROWTH if len(counters) < MOST_COUNTERS else 1
            self._counters = counters.translate(_HALVED) * copies
            self._counted = 0
        return False

    def count(self, answers: int, size: int) -> None:
        """Add the number of new cached decisions, and their approximate size in bytes."""
        self._answers += answers
        self._bytes += size
        if self._answers > MOST_ENTRIES or self._bytes > MOST_BYTES:
            self._answers = self._bytes = 0
            self._threshold = min(2 * self._threshold, HIGHEST_THRESHOLD)
            self.forget()

    def forget(self) -> None:
        """Empty the cache. The cache and its sessions refer to each other: without this, an old
        index would stay in memory until the next garbage collection."""
        for each in self.bounded:
            each.clear()

    def note_change(self, number: int, acls: Iterable[Acl]) -> None:
        """Note that change ``number`` (from 1 on) added or removed ``acls``.

        The one thread that changes ACLs calls this before a decision uses the new ACLs.
        """
        for acl in acls:
            self._touched.setdefault(acl.principal, []).append((number, acl))

    def touching(self, identity: Identity, since: int) -> list[Acl]:
        """The ACLs that were added or removed after change ``since`` and can match ``identity``."""
        touched, found = self._touched, []
        for principal in (WILDCARD_PRINCIPAL, *identity[1:]):
            found += [acl for number, acl in touched.get(principal, ()) if number > since]
        return found

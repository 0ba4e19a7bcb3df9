"""The cache of an authorizer's sessions: its limits, and its invalidation.

After a small change of ACLs, the next ``DecisionContext`` can keep the cache. At its next request,
a session looks up the changed ACLs of its principals.

This module must not know how a decision is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar

from metalog.acl import WILDCARD_PRINCIPAL, Acl

MOST_ENTRIES = 1 << 17
"""The cache is emptied after more than this many new entries. Prefixes that a session visits count
as entries, because a client can make a session visit many nested prefixes."""
MOST_BYTES = 1 << 27
"""The approximate size in bytes at which the cache is emptied. Clients can choose long names."""
ENTRY_BYTES: Final = 160
"""The approximate size in bytes of a cached decision in CPython 3.11, without its name."""
CHARACTER_BYTES: Final = 4
"""The maximum size in bytes of a character. An estimate by length takes a quarter of the time of
``getsizeof``."""
ADMISSION_THRESHOLD = 16
"""At first, a session is cached after approximately this many requests. Adding a session takes
approximately the time that the cache saves in this many requests."""
HIGHEST_THRESHOLD: Final = 64
"""The admission threshold doubles, up to this value, each time the cache is full. So the cache
keeps the sessions with the most requests."""
MOST_CHANGES: Final = 64
"""The cache survives at most this many successive changes, because a session can keep an old index
in memory."""
FEWEST_COUNTERS: Final = 1 << 12
MOST_COUNTERS: Final = 1 << 18
_GROWTH: Final = 4
_HALVED: Final = bytes(count // 2 for count in range(256))

Identity = tuple[str, ...]
"""A session's host, its principal, and its additional principals."""
Session = TypeVar("Session")


class RememberedSessions(Generic[Session]):
    """The cached sessions. ``bounded`` has all dicts that ``forget`` empties."""

    __slots__ = (
        "_bytes",
        "_counted",
        "_counters",
        "_entries",
        "_threshold",
        "_touched",
        "bounded",
        "sessions",
    )

    def __init__(self) -> None:
        self.sessions: dict[Identity, Session] = {}
        self.bounded: tuple[dict[Any, Any], ...] = ()
        self._touched: dict[str, list[tuple[int, Acl]]] = {}
        self._entries = self._bytes = self._counted = 0
        self._counters: bytearray | None = None
        self._threshold = ADMISSION_THRESHOLD

    def is_frequent(self, identity: Identity) -> bool:
        """Count a request. Returns whether the session has reached the admission threshold.

        Sessions with colliding hashes share a counter. A table that grows is repeated, so that
        each session keeps its count.
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

    def count(self, entries: int, size: int) -> None:
        self._entries += entries
        self._bytes += size
        if self._entries > MOST_ENTRIES or self._bytes > MOST_BYTES:
            self._entries = self._bytes = 0
            self._threshold = min(2 * self._threshold, HIGHEST_THRESHOLD)
            self.forget()

    def forget(self) -> None:
        """Empty the cache. The cache and its sessions refer to each other. So without this call,
        an old index stays in memory until the next garbage collection."""
        for each in self.bounded:
            each.clear()

    def note_change(self, number: int, acls: Iterable[Acl]) -> None:
        """Remember that change ``number`` (counted from 1) added or removed ``acls``.

        The one thread that changes ACLs calls this method before a decision uses the new ACLs.
        """
        for acl in acls:
            self._touched.setdefault(acl.principal, []).append((number, acl))

    def touching(self, identity: Identity, since: int) -> list[Acl]:
        """The ACLs that were added or removed after change ``since`` and can match ``identity``."""
        touched, found = self._touched, []
        for principal in (WILDCARD_PRINCIPAL, *identity[1:]):
            found += [acl for number, acl in touched.get(principal, ()) if number > since]
        return found

"""What an authorizer remembers of its sessions, how long, and within which bounds.

Contexts that follow each other share one ``RememberedSessions`` while the ACLs change one by
one: each change is noted by its principal, and a session looks there, when it next asks, for
what it must forget. A session that asks seldom is only counted, in a table of fixed size.

This module must not know how an answer is found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar

from metalog.acl import WILDCARD_PRINCIPAL, Acl

REMEMBERED = 1 << 17
"""How many sessions, names and answers are remembered before all starts again; what prefixes
come to is counted too, or a deep nest of them would fill the memory by sessions."""
REMEMBERED_BYTES = 1 << 27
"""About as many bytes may what is remembered take, before all starts again: sessions and names
come from clients, who may make each of them long."""
ENTRY_BYTES: Final = 110
"""About what a remembered answer takes beside its text, as CPython 3.11 lays it out."""
OFTEN = 4
"""A session's answers are remembered once it has asked so often: to begin with them takes as long
as so many answers from the ACLs of a name."""
MOST_OFTEN: Final = 64
"""Each time that all starts again, twice as many questions are waited for, up to so many: then
there are more sessions than can be remembered, and those that ask most stay."""
MOST_CHANGES: Final = 64
"""So many changes after each other keep what is remembered: a session may hold the index that it
began with, and so much may old indexes take."""
_COUNTERS: Final = 1 << 18
_HALVED: Final = bytes(count // 2 for count in range(256))

Identity = tuple[str, ...]
"""A session's host, its principal, and its additional principals."""
Session = TypeVar("Session")


class RememberedSessions(Generic[Session]):
    """``sessions`` are those that asked often; ``bounded`` are all dicts that what is counted
    lies in, which are emptied together."""

    __slots__ = (
        "_answers",
        "_asked",
        "_bytes",
        "_often",
        "_seldom",
        "_touched",
        "bounded",
        "sessions",
    )

    def __init__(self) -> None:
        self.sessions: dict[Identity, Session] = {}
        self.bounded: tuple[dict[Any, Any], ...] = ()
        self._touched: dict[str, list[tuple[int, Acl]]] = {}
        self._answers = self._bytes = self._seldom = 0
        self._asked: bytearray | None = None
        self._often = OFTEN

    def asks_often(self, identity: Identity) -> bool:
        """Counts a question; sessions whose hashes collide are counted together. Once there were
        as many questions as counters, all counts are halved."""
        asked = self._asked
        place = hash(identity) & _COUNTERS - 1
        if asked is None:
            asked = self._asked = bytearray(_COUNTERS)
        count = asked[place]
        if count >= self._often:
            return True
        asked[place] = count + 1
        self._seldom += 1
        if self._seldom > _COUNTERS:
            self._asked = asked.translate(_HALVED)
            self._seldom = 0
        return False

    def count(self, answers: int, size: int) -> None:
        """So many answers more are remembered, which take about so many bytes."""
        self._answers += answers
        self._bytes += size
        if self._answers > REMEMBERED or self._bytes > REMEMBERED_BYTES:
            self._answers = self._bytes = 0
            self._often = min(2 * self._often, MOST_OFTEN)
            for each in self.bounded:
                each.clear()

    def note_change(self, number: int, acls: Iterable[Acl]) -> None:
        """Change ``number``, from 1 on, added or removed ``acls``; the one writer calls this before
        anybody is answered by what it led to."""
        for acl in acls:
            self._touched.setdefault(acl.principal, []).append((number, acl))

    def touching(self, identity: Identity, since: int) -> list[Acl]:
        """The ACLs that came or went after change ``since`` and may mean ``identity``."""
        touched, found = self._touched, []
        for principal in (WILDCARD_PRINCIPAL, *identity[1:]):
            found += [acl for number, acl in touched.get(principal, ()) if number > since]
        return found

"""An immutable sorted set of names, which finds the names that are prefixes of a given name.

The names are in chunks. A name that is added or removed replaces only its chunk and the lists of
chunks. The search uses one fact: every stored prefix of a name is the name's predecessor, or a
prefix of the predecessor. So one bisection, and the predecessor's own prefixes, which are cached,
find them all.

The order is by code point; the fact holds in any lexicographic order. This module must not know
ACLs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Final, TypeVar

CHUNK: Final = 128

Value = TypeVar("Value")


class Prefix:
    """A stored name, and ``shorter``, the longest stored name that is a prefix of it."""

    __slots__ = ("name", "shorter")

    def __init__(self, name: str, shorter: Prefix | None) -> None:
        self.name = name
        self.shorter = shorter


def up_from(prefix: Prefix | None) -> Iterator[Prefix]:
    """``prefix`` and all shorter ones, the longest first."""
    while prefix is not None:
        yield prefix
        prefix = prefix.shorter


def combined(
    prefix: Prefix | None,
    known: dict[Prefix | None, Value],
    longer: Callable[[Value, Prefix], Value],
) -> Value:
    """Fold ``longer`` over all stored prefixes, from the shortest to ``prefix``.

    ``longer`` gets the value of the next shorter prefix, first ``known[None]``, and the prefix.
    ``known`` caches all values, so no prefix is visited twice.
    """
    unknown = []
    while prefix is not None and prefix not in known:
        unknown.append(prefix)
        prefix = prefix.shorter
    value = known[prefix]
    for each in reversed(unknown):
        value = known[each] = longer(value, each)
    return value


class SortedNames:
    """An immutable sorted set of names.

    Chunk i holds the names from ``_firsts[i]``, the first of which is "", up to
    ``_firsts[i + 1]``. No chunk is empty, unless it is the only one.
    """

    __slots__ = ("_chunks", "_counts", "_firsts", "_lengths", "_prefixes")

    def __init__(
        self, firsts: list[str], chunks: list[list[str]], counts: Mapping[int, int]
    ) -> None:
        """``counts`` has the number of names of each length."""
        self._firsts = firsts
        self._chunks = chunks
        self._counts = counts
        self._lengths = sorted(counts)
        self._prefixes: dict[str, Prefix] = {}

    @staticmethod
    def of(names: list[str]) -> SortedNames:
        """The set of ``names``, which must be sorted."""
        chunks = [names[start : start + CHUNK] for start in range(0, len(names), CHUNK)] or [[]]
        firsts = ["", *(chunk[0] for chunk in chunks[1:])]
        return SortedNames(firsts, chunks, Counter(map(len, names)))

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._chunks)

    @property
    def chunks(self) -> list[list[str]]:
        """All names in order, in parts. An update replaces only the part that holds the name."""
        return self._chunks

    def chunk_of(self, name: str) -> list[str]:
        """The one of ``chunks`` in which ``name`` is, or would be."""
        return self._chunks[bisect_right(self._firsts, name) - 1]

    def updated(self, name: str, *, is_added: bool) -> SortedNames:
        """The set with ``name`` added, which is not in it, or removed, which is in it."""
        length, counts = len(name), dict(self._counts)
        counts[length] = counts.get(length, 0) + (1 if is_added else -1)
        if not counts[length]:
            del counts[length]
        at = bisect_right(self._firsts, name) - 1
        chunk = self._chunks[at].copy()
        if is_added:
            insort(chunk, name)
        else:
            del chunk[bisect_left(chunk, name)]
        if 0 < len(chunk) <= 2 * CHUNK:
            chunks = self._chunks.copy()
            chunks[at] = chunk
            return SortedNames(self._firsts, chunks, counts)
        parts = [part for part in (chunk[:CHUNK], chunk[CHUNK:]) if part]
        firsts = [*self._firsts[:at], *(part[0] for part in parts), *self._firsts[at + 1 :]]
        chunks = [*self._chunks[:at], *parts, *self._chunks[at + 1 :]]
        return SortedNames(["", *firsts[1:]], chunks or [[]], counts)

    def longest_prefix(self, name: str) -> Prefix | None:
        """The longest stored name that is a prefix of ``name``; it links to all shorter ones."""
        at = bisect_right(self._firsts, name) - 1
        chunk = self._chunks[at]
        place = bisect_right(chunk, name)
        if place:
            nearest = chunk[place - 1]
        elif at:
            nearest = self._chunks[at - 1][-1]
        else:
            return None
        prefix = self._prefixes.get(nearest)
        if prefix is None:
            shortest = self._lengths[0]
            if name[:shortest] != nearest[:shortest]:
                return None
            prefix = self._prefix(nearest)
        while prefix is not None and not name.startswith(prefix.name):
            prefix = prefix.shorter
        return prefix

    def any_begins_with(self, start: str) -> bool:
        """Whether a stored name begins with ``start`` or equals it."""
        at = bisect_left(self._firsts, start, 1) - 1
        chunk = self._chunks[at]
        place = bisect_left(chunk, start)
        if place < len(chunk):
            return chunk[place].startswith(start)
        return at + 1 < len(self._chunks) and self._chunks[at + 1][0].startswith(start)

    def _check(self) -> None:
        """Walks the invariants; for tests."""
        firsts, chunks = self._firsts, self._chunks
        names = list(self)
        well_formed = (
            len(firsts) == len(chunks)
            and firsts[0] == ""
            and (all(chunks) or len(chunks) == 1)
            and all(len(chunk) <= 2 * CHUNK for chunk in chunks)
            and names == sorted(set(names))
            and self._counts == Counter(map(len, names))
            and all(name in self.chunk_of(name) for name in names)
        )
        for name, prefix in self._prefixes.items():
            shorter = prefix.shorter
            stored = [other for other in names if other != name and name.startswith(other)]
            longest = max(stored, default=None)
            well_formed &= prefix.name == name and name in names
            well_formed &= (None if shorter is None else shorter.name) == longest
        if not well_formed:
            raise AssertionError("an invariant of the sorted names is broken")

    def _prefix(self, name: str) -> Prefix:
        """The ``Prefix`` of ``name``, a stored name."""
        missing = [name]
        shorter = self._next_shorter(name)
        while shorter is not None and shorter not in self._prefixes:
            missing.append(shorter)
            shorter = self._next_shorter(shorter)
        prefix = None if shorter is None else self._prefixes[shorter]
        for each in reversed(missing):
            prefix = self._prefixes[each] = Prefix(each, prefix)
        assert prefix is not None
        return prefix

    def _next_shorter(self, name: str) -> str | None:
        """The longest stored name that is a proper prefix of ``name``."""
        longest = len(name) - 1
        while True:
            at = bisect_right(self._lengths, longest) - 1
            if at < 0:
                return None
            start = name[: self._lengths[at]]
            nearest = self._at_or_before(start)
            if nearest is None or start.startswith(nearest):
                return nearest
            longest = common_prefix(start, nearest)

    def _at_or_before(self, name: str) -> str | None:
        at = bisect_right(self._firsts, name) - 1
        chunk = self._chunks[at]
        place = bisect_right(chunk, name)
        if place:
            return chunk[place - 1]
        return self._chunks[at - 1][-1] if at else None


def common_prefix(one: str, other: str) -> int:
    """The number of leading characters that both have in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low

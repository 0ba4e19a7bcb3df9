"""An immutable sorted set of names, which finds the names that are prefixes of a given name.

The names are in chunks, in order of code points. Adding or removing a name replaces only the name's
chunk. In this order, every stored prefix of a name is the name's predecessor, or a prefix of the
predecessor. So one bisection finds the predecessor, and its links (``Prefix.shorter``) lead to all
prefixes.

This module must not know ACLs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, TypeVar

CHUNK: Final = 128
MOST_CACHED: Final = 1 << 13
"""The maximum number of results in the cache of ``longest_prefix``."""
LONGEST_BEGINNING: Final = 64
"""The maximum length in characters of a key in this cache. A set with a longer name has no
cache."""
MOST_LENGTHS: Final = 6
"""If the names have at most this many different lengths, one dict look-up per length is faster than
a bisection."""
FEW_LENGTHS: Final = 2
"""With at most this many lengths, the dict look-ups are also faster than the cache."""

Value = TypeVar("Value")


class Prefix:
    """A stored name. ``shorter`` is the longest other stored name that is a prefix of this name.

    The owner of the names may set ``value`` before other threads read the names.
    """

    __slots__ = ("name", "shorter", "value")

    def __init__(self, name: str, shorter: Prefix | None) -> None:
        self.name = name
        self.shorter = shorter
        self.value: Any = None


_UNKNOWN: Final = Prefix("", None)


def with_shorter(prefix: Prefix | None) -> Iterator[Prefix]:
    """``prefix`` and all its stored prefixes, the longest first."""
    while prefix is not None:
        yield prefix
        prefix = prefix.shorter


def combined(
    prefix: Prefix | None, known: dict[Prefix | None, Value], step: Callable[[Value, Prefix], Value]
) -> Value:
    """Fold ``step`` over ``prefix`` and all its stored prefixes, the shortest first.

    ``step`` takes the value of the next shorter prefix, and the prefix. ``known`` caches all
    values; ``known[None]`` is the start value.
    """
    unknown = []
    while prefix is not None and prefix not in known:
        unknown.append(prefix)
        prefix = prefix.shorter
    value = known[prefix]
    for each in reversed(unknown):
        value = known[each] = step(value, each)
    return value


Links = list[Prefix] | None
"""The ``Prefix`` of each name of a chunk, in order; None if the chunk is not linked yet."""


class SortedNames:
    """An immutable sorted set of names.

    Chunk i holds the names from ``_firsts[i]`` up to ``_firsts[i + 1]``, exclusive; ``_firsts[0]``
    is "". Only an empty set has an empty chunk.
    """

    __slots__ = (
        "_by_beginning",
        "_by_name",
        "_chunks",
        "_counts",
        "_firsts",
        "_hits",
        "_lengths",
        "_links",
        "_longest",
    )

    def __init__(
        self,
        firsts: list[str],
        chunks: list[list[str]],
        counts: Mapping[int, int],
        links: list[Links] | None = None,
        *,
        caches_results: bool = True,
    ) -> None:
        """``counts`` has the number of names of each length; ``links`` has an item per chunk."""
        self._firsts = firsts
        self._chunks = chunks
        self._counts = counts
        self._links = links
        self._lengths: list[int] = []
        self._by_name: dict[str, Prefix] | None = None
        self._longest = longest = max(counts, default=0)
        self._hits = 0
        self._by_beginning: dict[str, Prefix | None] | None = None
        if caches_results and longest <= LONGEST_BEGINNING:
            self._by_beginning = {}

    @staticmethod
    def of(names: list[str]) -> SortedNames:
        """The set of ``names``, which must be sorted."""
        chunks = [names[start : start + CHUNK] for start in range(0, len(names), CHUNK)] or [[]]
        firsts = ["", *(chunk[0] for chunk in chunks[1:])]
        return SortedNames(firsts, chunks, Counter(map(len, names)))

    def link(self) -> Iterator[Prefix]:
        """Link all names to their prefixes, which is faster than to link chunks during look-ups.

        Returns the links in order of names.
        """
        last: Prefix | None = None
        links: list[list[Prefix]] = []
        for chunk in self._chunks:
            linked = _linked(chunk, last)
            if linked:
                last = linked[-1]
            links.append(linked)
        self._links = [*links]
        if len(self._counts) <= MOST_LENGTHS:
            self._lengths = sorted(self._counts, reverse=True)
            self._by_name = {prefix.name: prefix for prefix in chain.from_iterable(links)}
            if len(self._lengths) <= FEW_LENGTHS:
                self._by_beginning = None
        return chain.from_iterable(links)

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self._chunks)

    @property
    def chunks(self) -> list[list[str]]:
        """All names in order, in chunks. An update replaces only the chunks of changed names."""
        return self._chunks

    def chunk_of(self, name: str) -> list[str]:
        """The chunk that contains ``name``, or would contain it."""
        return self._chunks[bisect_right(self._firsts, name) - 1]

    def updated(self, changes: Mapping[str, bool]) -> SortedNames:
        """The set with the names of ``changes`` added (True) or removed (False).

        A name to add must not be in the set, and a name to remove must be in it.
        """
        firsts, chunks, counts = self._firsts, self._chunks.copy(), dict(self._counts)
        links = None if self._links is None else self._links.copy()
        for name, is_added in changes.items():
            length = len(name)
            counts[length] = counts.get(length, 0) + (1 if is_added else -1)
            if not counts[length]:
                del counts[length]
            at = bisect_right(firsts, name) - 1
            chunk = chunks[at].copy()
            place = bisect_left(chunk, name)
            chunk[place : place + (not is_added)] = [name] if is_added else []
            if links is not None:
                _relink(links, chunks, at, place, chunk, name)
            chunks[at] = chunk
            if not 0 < len(chunk) <= 2 * CHUNK:
                parts = [part for part in (chunk[:CHUNK], chunk[CHUNK:]) if part]
                starts = [*firsts[:at], *(part[0] for part in parts), *firsts[at + 1 :]]
                firsts = ["", *starts[1:]]
                chunks[at : at + 1] = parts
                chunks = chunks or [[]]
                if links is not None:
                    linked = links[at]
                    halves = linked and (linked[:CHUNK], linked[CHUNK:])
                    links[at : at + 1] = halves[: len(parts)] if halves else [None] * len(parts)
                    links = links or [None]
        caches_results = self._by_beginning is not None
        return SortedNames(firsts, chunks, counts, links, caches_results=caches_results)

    def longest_prefix(self, name: str) -> Prefix | None:
        """The longest stored name that is a prefix of ``name``.

        The key in the cache is ``name``, cut to the length of the longest stored name.
        """
        known = self._by_beginning
        if known is None:
            return self._searched(name)
        beginning = name[: self._longest]
        prefix = known.get(beginning, _UNKNOWN)
        if prefix is _UNKNOWN:
            prefix = self._searched(name)
            self._cache(known, beginning, prefix)
        else:
            self._hits += 1
        return prefix

    @property
    def finder(self) -> Callable[[str], Prefix | None]:
        """As ``longest_prefix``, but can be faster for many look-ups."""
        return self._searched if self._by_beginning is None else self.longest_prefix

    def _cache(
        self, known: dict[str, Prefix | None], beginning: str, prefix: Prefix | None
    ) -> None:
        """Also stops caching if names rarely share a beginning."""
        size, hits = len(known), self._hits
        if hits < (size if size >= MOST_CACHED else size // 16 if size == MOST_CACHED // 8 else 0):
            self._by_beginning = None
        elif size >= MOST_CACHED:
            self._by_beginning = {beginning: prefix}
            self._hits = 0
        else:
            known[beginning] = prefix

    def _searched(self, name: str) -> Prefix | None:
        by_name = self._by_name
        if by_name is not None:
            for length in self._lengths:
                prefix = by_name.get(name[:length])
                if prefix is not None:
                    return prefix
            return None
        at = bisect_right(self._firsts, name) - 1
        place = bisect_right(self._chunks[at], name)
        if not place:
            if not at:
                return None
            at -= 1
        links = self._links
        linked = (links and links[at]) or self._link(at)
        prefix = linked[place - 1]
        while prefix is not None and not name.startswith(prefix.name):
            prefix = prefix.shorter
        return prefix

    def any_begins_with(self, start: str) -> bool:
        at = bisect_left(self._firsts, start, 1) - 1
        chunk = self._chunks[at]
        place = bisect_left(chunk, start)
        if place < len(chunk):
            return chunk[place].startswith(start)
        return at + 1 < len(self._chunks) and self._chunks[at + 1][0].startswith(start)

    def _check(self) -> None:
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
        well_formed &= self._links is None or len(self._links) == len(chunks)
        for linked, chunk in zip(self._links or (), chunks, strict=False):
            well_formed &= linked is None or [each.name for each in linked] == chunk
            for prefix in linked or ():
                name, shorter = prefix.name, prefix.shorter
                stored = [other for other in names if other != name and name.startswith(other)]
                longest = max(stored, default=None)
                well_formed &= (None if shorter is None else shorter.name) == longest
        for beginning, known in (self._by_beginning or {}).items():
            longest = max(filter(beginning.startswith, names), default=None)
            well_formed &= (None if known is None else known.name) == longest
        if not well_formed:
            raise AssertionError("an invariant of the sorted names is broken")

    def _link(self, at: int) -> list[Prefix]:
        """Link chunk ``at``, after the chunks on which the links depend."""
        chunks = self._chunks
        links = self._links
        if links is None:
            links = self._links = [None] * len(chunks)
        unknown = []
        while links[at] is None:
            shorter = self._next_shorter(chunks[at][0])
            unknown.append((at, shorter))
            if shorter is None:
                break
            at = bisect_right(self._firsts, shorter) - 1
        linked = links[at]
        for at, shorter in reversed(unknown):
            before = None
            if shorter is not None and linked is not None:
                shorter_at = bisect_right(self._firsts, shorter) - 1
                before = linked[bisect_left(chunks[shorter_at], shorter)]
            linked = links[at] = _linked(chunks[at], before)
        assert linked is not None
        return linked

    def _next_shorter(self, name: str) -> str | None:
        """The longest stored name that is a proper prefix of ``name``."""
        lengths = sorted(self._counts)
        longest = len(name) - 1
        while True:
            at = bisect_right(lengths, longest) - 1
            if at < 0:
                return None
            start = name[: lengths[at]]
            nearest = self._at_or_before(start)
            if nearest is None or start.startswith(nearest):
                return nearest
            longest = common_prefix_length(start, nearest)

    def _at_or_before(self, name: str) -> str | None:
        at = bisect_right(self._firsts, name) - 1
        chunk = self._chunks[at]
        place = bisect_right(chunk, name)
        if place:
            return chunk[place - 1]
        return self._chunks[at - 1][-1] if at else None


def common_prefix_length(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _linked(names: Iterable[str], before: Prefix | None) -> list[Prefix]:
    """The ``Prefix`` of each of ``names``, which are consecutive stored names.

    ``before`` is the ``Prefix`` of the preceding stored name, or of the longest stored prefix of
    the first of ``names``.
    """
    linked, prefix = [], before
    for name in names:
        while prefix is not None and not name.startswith(prefix.name):
            prefix = prefix.shorter
        prefix = Prefix(name, prefix)
        linked.append(prefix)
    return linked


def _relink(
    links: list[Links], chunks: list[list[str]], at: int, place: int, chunk: list[str], name: str
) -> None:
    """Update ``links`` after the change of ``name`` at ``place`` of chunk ``at``, now ``chunk``.

    Only the links of names that begin with ``name`` can change.
    """
    linked = links[at]
    end, size = place, len(chunk)
    while end < size and chunk[end].startswith(name):
        end += 1
    if linked is not None:
        before = linked[place - 1] if place else None
        if not place and at:
            preceding = links[at - 1]
            before = preceding[-1] if preceding else None
        if before is None and at:
            links[at] = None
        else:
            rest = end + len(chunks[at]) - size
            links[at] = linked[:place] + _linked(chunk[place:end], before) + linked[rest:]
    if end == size:
        for following in range(at + 1, len(chunks)):
            if not chunks[following][0].startswith(name):
                break
            links[following] = None

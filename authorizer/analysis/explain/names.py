"""Finds the known name that an unknown name was probably meant to be.

The search looks up all texts at an edit distance of one. Then it compares the unknown name with
similar known names. The number of comparisons is limited. This module must not know where known
names come from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from heapq import nlargest
from itertools import islice
from string import ascii_letters, digits

from authorizer.engine.prefixes import common_prefix_length

_ALIKE_LIMIT = 5_000
_MOST_COMPARED = 2_000
_LEAST_COMPARED = 20
_CHARACTER_PAIRS = 400_000
"""The budget for comparisons: one step for each pair of characters."""
_LONGEST_EDITED = 100
_SHORTEST_EDITED = 3
"""Of a shorter name, an edit leaves too little: only the case may differ."""


def nearest_name(name: str, known: Collection[str]) -> str | None:
    """The name in ``known`` that the unknown ``name`` was probably meant to be, or None.

    ``known`` should be a set, because thousands of texts are looked up.
    """
    if _SHORTEST_EDITED <= len(name) <= _LONGEST_EDITED:
        for near in _one_edit_away(name):
            if near in known:
                return near
    alike = list(islice(_alike(name, known), _ALIKE_LIMIT))
    folded = name.casefold()
    for other in alike:
        if other.casefold() == folded:
            return other
    if len(name) < _SHORTEST_EDITED:
        return None
    affordable = _CHARACTER_PAIRS // len(name) ** 2
    compared = min(max(affordable, _LEAST_COMPARED), _MOST_COMPARED)
    if len(alike) > compared:
        alike = nlargest(compared, alike, key=lambda other: _shared_at_ends(name, other))
    return next(iter(get_close_matches(name, alike, n=1, cutoff=0.7)), None)


def nearest_principal(principal: str, known: Collection[str]) -> str | None:
    """``nearest_name`` for principals ``Type:name``. The result has the same type or name."""
    kind, colon, name = principal.partition(":")
    start = kind + colon
    by_name = {other[len(start) :] for other in known if other.startswith(start)}
    near = nearest_name(name, by_name)
    if near is not None:
        return start + near
    return nearest_name(
        principal,
        {other for other in known if other.partition(":")[2].casefold() == name.casefold()},
    )


def _alike(name: str, known: Collection[str]) -> Iterator[str]:
    """Names of similar length with the first, middle or last third of ``name``, ignoring case."""
    length, third = len(name), max(1, len(name) // 3)
    folded = name.casefold()
    head, middle, tail = folded[:third], folded[third:-third], folded[-third:]
    slack = max(2, third)
    for other in known:
        if abs(len(other) - length) <= slack:
            text = other.casefold()
            if text.startswith(head) or text.endswith(tail) or (middle and middle in text):
                yield other


def _shared_at_ends(one: str, other: str) -> int:
    return common_prefix_length(one, other) + common_prefix_length(one[::-1], other[::-1])


def _one_edit_away(name: str) -> Iterator[str]:
    alphabet = sorted(set(ascii_letters + digits + "._-:") | set(name))
    for i in range(len(name) + 1):
        head, tail = name[:i], name[i:]
        if tail:
            yield head + tail[1:]
            yield head + tail[0].swapcase() + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for character in alphabet:
            yield head + character + tail
            yield head + character + tail[1:]

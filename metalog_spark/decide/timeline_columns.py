"""Decision timelines in columns, and a fixed-size cache from numbers to numbers.

This module must not know what a question is.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from authorizer.history.decision_timeline import DecisionTimeline

Numbers = NDArray[np.int64]
FIRST_LIFETIME: Final = 2
"""The number of the first ACL lifetime in columns. The smaller numbers are UNMATCHED and
NO_PATTERN of ``decision_timeline``."""
SLOT_BITS: Final = 20
"""The cache has ``2 ** SLOT_BITS`` slots."""
_SCATTER: Final = np.uint64(0x9E3779B97F4A7C15)
"""An odd multiplier with random-looking bits: it spreads neighbouring keys over the slots."""


class NumberSlots:
    """A fixed-size cache with one key a slot, so that numpy looks up many keys without a loop. A
    new key replaces the previous key of its slot."""

    def __init__(self) -> None:
        self._keys = np.full(1 << SLOT_BITS, -1, np.int64)
        self._found = np.empty(1 << SLOT_BITS, np.int64)

    def find(self, keys: Numbers, compute: Callable[[Numbers], Numbers]) -> Numbers:
        """The number of each key. ``compute`` gets the keys that are not in the cache. Keys must
        not be negative."""
        slots = keys.view(np.uint64) * _SCATTER >> np.uint64(64 - SLOT_BITS)
        found: Numbers = self._found[slots]
        lacking = np.flatnonzero(self._keys[slots] != keys)
        if len(lacking):
            found[lacking] = compute(keys[lacking])
            taken = slots[lacking]
            self._keys[taken] = keys[lacking]
            self._found[taken] = found[lacking]
        return found


class TimelineColumns:
    def __init__(self, version_count: int) -> None:
        self._version_count = version_count
        self._numbers: dict[DecisionTimeline, int] = {}
        self._firsts = array("q")
        self._counts = array("q")
        self._since = array("q")
        self._by = array("q")

    def number(self, timeline: DecisionTimeline) -> int:
        number = self._numbers.get(timeline)
        if number is None:
            number = self._numbers[timeline] = len(self._firsts)
            self._firsts.append(len(self._by))
            self._counts.append(len(timeline.by))
            self._since.extend([number * self._version_count + since for since in timeline.since])
            self._by.extend([by + FIRST_LIFETIME for by in timeline.by])
        return number

    def at(self, timelines: Numbers, versions: Numbers) -> tuple[Numbers, Numbers]:
        """Two columns, row by row for a timeline's number and a version of the history: the number
        of the deciding ACL lifetime, and the version since which the same ACLs match."""
        columns = self._firsts, self._counts, self._since, self._by
        firsts, counts, since, by = (np.frombuffer(column, np.int64) for column in columns)
        places = firsts[timelines]
        changing = np.flatnonzero(counts[timelines] > 1)
        if len(changing):
            wanted = timelines[changing] * self._version_count + versions[changing]
            places[changing] = np.searchsorted(since, wanted, "right") - 1
        return by[places], since[places] - timelines * self._version_count

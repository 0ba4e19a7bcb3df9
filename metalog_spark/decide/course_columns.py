"""Decision timelines in columns, and numbers that were found for others, each in its slot.

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
BEFORE_LIVES: Final = 2
"""A life's number is so much more in columns: UNMATCHED and UNREACHED come first."""
SLOT_BITS: Final = 20
"""The courses of so many questions, as a power of two, are found without a search."""
_SCATTER: Final = np.uint64(0x9E3779B97F4A7C15)
"""Odd, and its bits like those of chance: by products with it, neighbours lie far apart."""


class NumberSlots:
    """Numbers found for others, a column at a time. Each has one slot, which it takes from
    whichever had it: so nothing grows, and nothing is searched for."""

    def __init__(self) -> None:
        self._asked = np.full(1 << SLOT_BITS, -1, np.int64)
        self._found = np.empty(1 << SLOT_BITS, np.int64)

    def find(self, asked: Numbers, work_out: Callable[[Numbers], Numbers]) -> Numbers:
        """The number of each of ``asked``, none of which is negative; of those that have lost
        their slot, or had none, by ``work_out``."""
        slots = asked.view(np.uint64) * _SCATTER >> np.uint64(64 - SLOT_BITS)
        found: Numbers = self._found[slots]
        lacking = np.flatnonzero(self._asked[slots] != asked)
        if len(lacking):
            found[lacking] = work_out(asked[lacking])
            taken = slots[lacking]
            self._asked[taken] = asked[lacking]
            self._found[taken] = found[lacking]
        return found


class CourseColumns:
    """Courses, each different one once, in columns."""

    def __init__(self, versions: int) -> None:
        self._versions = versions
        self._numbers: dict[DecisionTimeline, int] = {}
        self._firsts = array("q")
        self._counts = array("q")
        self._since = array("q")
        self._by = array("q")

    def number(self, course: DecisionTimeline) -> int:
        number = self._numbers.get(course)
        if number is None:
            number = self._numbers[course] = len(self._firsts)
            self._firsts.append(len(self._by))
            self._counts.append(len(course.by))
            self._since.extend([number * self._versions + version for version in course.since])
            self._by.extend([by + BEFORE_LIVES for by in course.by])
        return number

    def at(self, courses: Numbers, versions: Numbers) -> Numbers:
        """What each of ``courses``, by their numbers, came to as of a version."""
        firsts, counts, since, by = map(
            _column, (self._firsts, self._counts, self._since, self._by)
        )
        places = firsts[courses]
        turning = np.flatnonzero(counts[courses] > 1)
        if len(turning):
            asked = courses[turning] * self._versions + versions[turning]
            places[turning] = np.searchsorted(since, asked, "right") - 1
        return by[places]


def _column(numbers: array[int]) -> Numbers:
    return np.frombuffer(numbers, np.int64)

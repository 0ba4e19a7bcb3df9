"""Which epoch wrote which offsets, as far as a follower has read: what truncation needs.

Source: KIP-595, "Log Reconciliation". Pure. This module must not know where batches come from.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple


class EpochBoundary(NamedTuple):
    start: int
    epoch: int


class Epochs:
    """``start`` is where the reading began; of what is below, no more is known than the epoch
    ``before`` it, if that."""

    def __init__(self, start: int = 0, before: int | None = None) -> None:
        self._starts: list[EpochBoundary] = []
        self._before = before
        self.start = start
        self.end = start

    def extend(self, epoch: int, end: int) -> None:
        """What comes next, up to ``end``, is of ``epoch``."""
        if not self._starts or self._starts[-1].epoch != epoch:
            self._starts.append(EpochBoundary(self.end, epoch))
        self.end = end

    def at(self, offset: int) -> int | None:
        """The epoch of the record at ``offset``, None where it is not known."""
        if offset == self.start - 1:
            return self._before
        place = bisect_right(self._starts, offset, key=lambda each: each.start)
        return self._starts[place - 1].epoch if place and offset < self.end else None

    def common_end(self, epoch: int, end: int) -> int:
        """Where we part from a leader whose log holds ``epoch`` up to ``end``, and of ours no
        later epoch."""
        for place in reversed(range(len(self._starts))):
            if self._starts[place].epoch <= epoch:
                following = self._starts[place + 1 :]
                own_end = following[0].start if following else self.end
                return min(own_end, end) if self._starts[place].epoch == epoch else own_end
        return self.start

    def truncate(self, offset: int) -> None:
        while self._starts and self._starts[-1].start >= offset:
            self._starts.pop()
        self.end = min(self.end, offset)

"""Maps offsets to leader epochs for a follower's part of the log; truncation needs the map.

Source: KIP-595, "Log Reconciliation". Pure. This module must not know where batches come from.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple


class EpochBoundary(NamedTuple):
    start: int
    epoch: int


class Epochs:
    """The epochs of the offsets from ``start`` on, where the follower began to read.

    ``before`` is the epoch of the record before ``start``, or None if it is unknown.
    """

    def __init__(self, start: int = 0, before: int | None = None) -> None:
        self._starts: list[EpochBoundary] = []
        self._before = before
        self.start = start
        self.end = start

    def extend(self, epoch: int, end: int) -> None:
        """Note that the next records, below ``end``, have this epoch."""
        if not self._starts or self._starts[-1].epoch != epoch:
            self._starts.append(EpochBoundary(self.end, epoch))
        self.end = end

    def at(self, offset: int) -> int | None:
        """The epoch of the record at ``offset``; None if it is unknown."""
        if offset == self.start - 1:
            return self._before
        index = bisect_right(self._starts, offset, key=lambda each: each.start)
        return self._starts[index - 1].epoch if index and offset < self.end else None

    def common_end(self, epoch: int, end: int) -> int:
        """The offset up to which our log and the leader's agree.

        In the leader's log, ``epoch`` ends at ``end``; it is the leader's newest epoch that is not
        newer than ours.
        """
        for index in reversed(range(len(self._starts))):
            if self._starts[index].epoch <= epoch:
                following = self._starts[index + 1 :]
                own_end = following[0].start if following else self.end
                return min(own_end, end) if self._starts[index].epoch == epoch else own_end
        return self.start

    def truncate(self, offset: int) -> None:
        while self._starts and self._starts[-1].start >= offset:
            self._starts.pop()
        self.end = min(self.end, offset)

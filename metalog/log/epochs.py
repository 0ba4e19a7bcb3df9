"""Where the leader epochs of a log begin.

A KRaft leader has an epoch, and the records that it writes have its epoch. Pure. This module must
not know where epochs are stored or received.
"""

from __future__ import annotations

from typing import NamedTuple


class EpochStart(NamedTuple):
    """A leader epoch, and the offset of its first record (in Kafka: ``EpochEntry``)."""

    epoch: int
    start_offset: int


class LeaderEpochs(NamedTuple):
    """``leader-epoch-checkpoint``: the start of each leader epoch, oldest first.

    When Kafka deletes segments, it raises the first entry's offset to the log's start. So the first
    epoch can have begun earlier; the other entries are exact.
    """

    file: str
    starts: tuple[EpochStart, ...] = ()

    def epoch_at(self, offset: int) -> int | None:
        """The epoch that a record at ``offset`` must have; None below the first entry."""
        epoch = None
        for start in self.starts:
            if start.start_offset > offset:
                break
            epoch = start.epoch
        return epoch

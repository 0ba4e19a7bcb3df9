"""A log that lives in memory: batches, and snapshots of them, for tests and embedding.

It obeys the same laws as a log on disk. This module must not know any file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from metalog.ids import SnapshotId
from metalog.log.succession import Succession
from metalog.ports import Appended, HighWatermark, LogBounds, LogEvent, SnapshotNeeded, Split
from metalog.records.batch import Batch


class MemoryLog:
    """``batches`` in order, whole and committed unless a lower ``high_watermark`` is given."""

    def __init__(
        self,
        batches: Iterable[Batch],
        *,
        snapshots: Mapping[SnapshotId, Sequence[Batch]] | None = None,
        high_watermark: int | None = None,
    ) -> None:
        self._batches = tuple(batches)
        self._snapshots = dict(snapshots or {})
        succession = Succession()
        for batch in self._batches:
            succession.admit(batch)
        newest = max(self._snapshots, default=SnapshotId(0, 0))
        start = self._batches[0].base_offset if self._batches else newest.end_offset
        end = newest.end_offset if succession.next_offset is None else succession.next_offset
        epoch = newest.epoch if succession.epoch is None else succession.epoch
        committed = end if high_watermark is None else high_watermark
        self._bounds = LogBounds(start, end, epoch, committed, "given with the batches")

    def bounds(self) -> LogBounds:
        return self._bounds

    def read(self, start: int) -> Iterator[LogEvent]:
        if start < self._bounds.start:
            newest = max(self._snapshots)
            yield SnapshotNeeded(newest)
            start = newest.end_offset
        if self._bounds.high_watermark is not None:
            yield HighWatermark(self._bounds.high_watermark)
        for batch in self._batches:
            if batch.next_offset > start:
                yield Appended(batch)

    def splits(self) -> Sequence[Split]:
        return [MemorySplit(self._batches)] if self._batches else []

    def snapshots(self) -> Sequence[SnapshotId]:
        return sorted(self._snapshots)

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]:
        return iter(self._snapshots[id])


class MemorySplit(NamedTuple):
    batches: tuple[Batch, ...]

    def read(self) -> Iterator[Batch]:
        return iter(self.batches)

"""Reads the part of a log that several folders of one quorum prove to be committed.

This module must not apply any record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from metalog.errors import CorruptLog, InvalidSource
from metalog.ids import SnapshotId
from metalog.log.folder.commit import Copy, Proven, Stamp, agree
from metalog.log.folder.directory import DirectoryLog
from metalog.log.quorum.voters import Voters
from metalog.ports import (
    Appended,
    CutShort,
    HighWatermark,
    LogBounds,
    LogEvent,
    SnapshotNeeded,
    Split,
)
from metalog.records.batch import Batch


class FoldersLog:
    """The committed part of the log in several folders, read from one folder."""

    def __init__(self, logs: Sequence[DirectoryLog]) -> None:
        _refuse_two_clusters(logs)
        _refuse_repeated_folder(logs)
        self._logs = tuple(logs)
        newest = max(logs, key=lambda log: (log.bounds().epoch, log.bounds().end))
        self.voters: Voters = newest.voters
        copies = [_copy(log) for log in logs]
        self.agreement = agree(copies, self.voters.ids)
        best = min(self.agreement.holders, key=lambda place: copies[place].start)
        self.source = logs[best]
        """The log that is read. It has the whole committed part, and the lowest start offset."""
        self._epoch = _epoch_below(self.agreement.committed, copies[best], self.source)

    @property
    def path(self) -> Path:
        return self.source.path

    @property
    def proven(self) -> Proven:
        return Proven(self.agreement.committed, self.agreement.why)

    @property
    def highest_end(self) -> int:
        """The highest end offset of the folders, committed or not."""
        return max(log.bounds().end for log in self._logs)

    @property
    def problems(self) -> tuple[str, ...]:
        found = [str(divergence) for divergence in self.agreement.divergences]
        for log in self._logs:
            found.extend(log.problems)
            if _lacks_its_voter(log):
                found.append(f"{log.path}: no meta.properties names its voter; copy that file too")
            if log.damage is not None:
                found.append(str(log.damage))
        return tuple(found)

    @property
    def damage(self) -> CorruptLog | None:
        """None: ``missing`` has the damage that can hide committed records."""
        return None

    @property
    def missing(self) -> CorruptLog | None:
        """The damage that can hide more committed records, or None.

        Only a log that ends at or below the committed offset can hide such records.
        """
        committed, ends = self.agreement.committed, [log.bounds().end for log in self._logs]
        for log, end in zip(self._logs, ends, strict=True):
            fault = log.damage or log.missing
            if fault is not None and (end == committed or end < committed < max(ends)):
                return fault
        return None

    def bounds(self) -> LogBounds:
        committed, why = self.proven
        start = min(self.source.bounds().start, committed)
        return LogBounds(start, committed, self._epoch, committed, why)

    def read(self, start: int) -> Iterator[LogEvent]:
        bounds = self.bounds()
        if start < bounds.start:
            if not (snapshots := self.snapshots()):
                raise CorruptLog(
                    f"the log begins at offset {bounds.start}, and no snapshot has the earlier"
                    " records",
                    file=str(self.source.path),
                )
            yield SnapshotNeeded(snapshots[-1])
            start = snapshots[-1].end_offset
        if self.missing is not None:
            yield CutShort(self.missing)
        yield HighWatermark(bounds.end)
        for batch in self.batches(start):
            yield Appended(batch)

    def batches(self, start: int) -> Iterator[Batch]:
        """The committed batches with records at offset ``start`` or later."""
        for batch in self.source.batches(start):
            if batch.next_offset > self.agreement.committed:
                return
            yield batch

    def splits(self) -> Sequence[Split]:
        return self.source.splits()

    def snapshots(self) -> Sequence[SnapshotId]:
        return self.source.snapshots()

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]:
        return self.source.open_snapshot(id)

    def bootstrap(self) -> Iterator[Batch] | None:
        return self.source.bootstrap()


def _lacks_its_voter(log: DirectoryLog) -> bool:
    node_id = None if log.meta_properties is None else log.meta_properties.node_id
    return node_id is None and log.folder.archive is None


def _copy(log: DirectoryLog) -> Copy:
    bounds = log.bounds()
    properties = log.meta_properties
    snapshots = log.snapshots()
    return Copy(
        name=str(log.path),
        voter=properties.node_id if properties is not None else None,
        start=bounds.start,
        end=bounds.end,
        snapshot=snapshots[-1] if snapshots else SnapshotId(0, 0),
        stamps=[
            Stamp(batch.base_offset, batch.next_offset, batch.epoch, batch.crc)
            for batch in log.batches(bounds.start)
        ],
        is_archive=log.folder.archive is not None,
    )


def _epoch_below(offset: int, copy: Copy, log: DirectoryLog) -> int:
    epochs = [stamp.epoch for stamp in copy.stamps if stamp.next_offset <= offset]
    epochs += [known.epoch for known in log.snapshots() if known.end_offset <= offset]
    return max(epochs, default=0)


def _refuse_repeated_folder(logs: Sequence[DirectoryLog]) -> None:
    places = [log.folder.partition.resolve() for log in logs]
    for log, place in zip(logs, places, strict=True):
        if places.count(place) > 1:
            raise InvalidSource(f"{log.path} is named twice; name each voter's folder once")


def _refuse_two_clusters(logs: Sequence[DirectoryLog]) -> None:
    first: tuple[str, DirectoryLog] | None = None
    for log in logs:
        cluster = log.cluster_id
        if cluster is None:
            continue
        if first is None:
            first = (cluster, log)
        elif cluster != first[0]:
            raise InvalidSource(
                f"{first[1].path} is of cluster {first[0]} and {log.path} of {cluster};"
                " give the folders of one quorum"
            )

"""Reads logs that are one file: one segment or one snapshot.

A segment whose name has Kafka's form is checked against the ``leader-epoch-checkpoint`` and the
indexes in its folder. This module must not know whole folders, and it does not apply records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from metalog.disk.files import LOCAL_FILES, Files, opened, read_whole
from metalog.errors import CorruptLog, CorruptSnapshot, InvalidSource
from metalog.ids import SnapshotId
from metalog.log.continuity import NO_EPOCHS, Continuity
from metalog.log.epochs import LeaderEpochs
from metalog.log.folder import layout
from metalog.log.folder.commit import NOT_ON_DISK, Proven
from metalog.log.folder.extent import MOST_LISTINGS, LogExtent, find_extents, missing_after
from metalog.log.folder.location import unreadable
from metalog.log.folder.segment import SegmentReader, TornTail, find_batch
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
from metalog.records.frame import Undecodable


def read_segment(
    path: Path, base_offset: int | None, epochs: LeaderEpochs, files: Files, start: int = 0
) -> Iterator[Batch]:
    """The batches of one segment from offset ``start`` on, without a torn tail."""
    position, first = 0, base_offset
    try:
        with opened(files, path) as file:
            if base_offset is not None and start > base_offset:
                position, first = find_batch(file, base_offset, start)
            continuity = Continuity(first, None, epochs)
            yield from SegmentReader(
                file, str(path), continuity, position=position, may_be_torn=True
            )
    except OSError as error:
        raise unreadable(path, error) from None


def read_checkpoint(path: Path, files: Files) -> Iterator[Batch]:
    """The batches of a snapshot's file; the caller checks header, footer and epoch."""
    try:
        with opened(files, path) as file:
            if file.size() == 0:
                raise CorruptSnapshot("the snapshot is empty", file=str(path), byte=0)
            yield from SegmentReader(file, str(path), Continuity(0))
    except OSError as error:
        raise unreadable(path, error) from None


def read_snapshot_file(path: Path, files: Files) -> Iterator[Batch]:
    """As ``read_checkpoint``, for a ``.checkpoint`` or ``.avro`` file."""
    named = layout.avro_snapshot_id(path.name)
    return read_checkpoint(path, files) if named is None else _read_avro(path, named, files)


def _read_avro(path: Path, id: SnapshotId, files: Files) -> Iterator[Batch]:
    from metalog.records.avro.snapshot import read_avro_snapshot

    try:
        with opened(files, path) as file:
            yield from read_avro_snapshot(file, id, str(path))
    except OSError as error:
        raise unreadable(path, error) from None


class SegmentLog:
    """One ``.log`` file with any name. A name in Kafka's form contains the base offset."""

    def __init__(self, path: str | Path, *, files: Files = LOCAL_FILES) -> None:
        self.path = Path(path)
        self._files = files
        self._base_offset = layout.segment_base_offset(self.path.name)
        self._epochs = _epochs_beside(self.path, files)
        self.torn_tail: TornTail | None = None
        self.damage: CorruptLog | None = None
        self.missing: CorruptLog | None = None
        self._missing_by_index: CorruptLog | None = None
        before: tuple[LogExtent, ...] | None = None
        for _ in range(MOST_LISTINGS):
            extents = _extents_beside(self.path, files)
            if extents == before:
                break
            self._find_end(extents)
            if self.missing is None and self._missing_by_index is None:
                break
            before = extents

    @property
    def problems(self) -> tuple[str, ...]:
        problems = [] if self.torn_tail is None else [str(self.torn_tail)]
        problems += [each.found for each in (self.missing, self._missing_by_index) if each]
        if self._bounds.start > 0:
            problems.append(
                f"{self.path}: the records before offset {self._bounds.start} are not in this file"
            )
        return tuple(problems)

    @property
    def proven(self) -> Proven:
        return Proven(0, "a segment alone proves nothing")

    def bootstrap(self) -> Iterator[Batch] | None:
        return None

    def bounds(self) -> LogBounds:
        return self._bounds

    def read(self, start: int) -> Iterator[LogEvent]:
        if self.missing is not None:
            yield CutShort(self.missing)
        if self.damage is None:
            yield HighWatermark(self._bounds.end)
        for batch in self.batches(start):
            yield Appended(batch)
        if self.damage is not None:
            raise self.damage

    def batches(self, start: int) -> Iterator[Batch]:
        for batch in read_segment(self.path, self._base_offset, self._epochs, self._files, start):
            if batch.next_offset > start:
                yield batch
            if batch.next_offset >= self._bounds.end:
                return

    def splits(self) -> Sequence[Split]:
        return [SegmentSplit(self.path, self._base_offset, self._epochs, self._files)]

    def snapshots(self) -> Sequence[SnapshotId]:
        return ()

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]:
        raise InvalidSource(f"{self.path}: a segment holds no snapshot {id}")

    def _find_end(self, extents: tuple[LogExtent, ...]) -> None:
        self.torn_tail = self.damage = self.missing = self._missing_by_index = None
        self._bounds = self._survey()
        if self.damage is None:
            end = self._bounds.end
            self.missing = missing_after(extents, end, is_certain=True)
            if self.torn_tail is None and self.missing is None:
                self._missing_by_index = missing_after(extents, end, is_certain=False)

    def _survey(self) -> LogBounds:
        start = end = self._base_offset or 0
        epoch = 0
        first = True
        continuity = Continuity(self._base_offset, None, self._epochs)
        try:
            with opened(self._files, self.path) as file:
                reader = SegmentReader(file, str(self.path), continuity, may_be_torn=True)
                for batch in reader:
                    if first:
                        start, first = batch.base_offset, False
                    end, epoch = batch.next_offset, batch.epoch
                self.torn_tail = reader.torn_tail
        except CorruptLog as error:
            self.damage = error
        except OSError as error:
            raise unreadable(self.path, error) from None
        return LogBounds(start, end, epoch, None, NOT_ON_DISK)


class CheckpointLog:
    """A log that has only one snapshot.

    A file without a snapshot's name, such as ``bootstrap.checkpoint``, has the end offset 0 and the
    epoch of its first batch.
    """

    def __init__(self, path: str | Path, *, files: Files = LOCAL_FILES) -> None:
        self.path = Path(path)
        self._files = files
        name = self.path.name
        self.id = layout.snapshot_id(name) or layout.avro_snapshot_id(name) or self._id_inside()

    @property
    def damage(self) -> CorruptLog | None:
        return None

    @property
    def missing(self) -> CorruptLog | None:
        return None

    @property
    def problems(self) -> tuple[str, ...]:
        return ()

    @property
    def proven(self) -> Proven:
        return Proven(self.id.end_offset, "a snapshot holds committed records only")

    def bootstrap(self) -> Iterator[Batch] | None:
        return None

    def bounds(self) -> LogBounds:
        end, why = self.proven
        return LogBounds(end, end, self.id.epoch, end, why)

    def read(self, start: int) -> Iterator[LogEvent]:
        if start < self.id.end_offset:
            yield SnapshotNeeded(self.id)
        yield HighWatermark(self.id.end_offset)

    def splits(self) -> Sequence[Split]:
        return ()

    def snapshots(self) -> Sequence[SnapshotId]:
        return (self.id,)

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]:
        if id != self.id:
            raise InvalidSource(f"{self.path}: holds the snapshot {self.id} only, not {id}")
        return read_snapshot_file(self.path, self._files)

    def _id_inside(self) -> SnapshotId:
        first = next(read_checkpoint(self.path, self._files), None)
        return SnapshotId(0, 0 if first is None else first.epoch)


class SegmentSplit(NamedTuple):
    """An input split: one segment from offset ``start`` on. Another process can read it."""

    path: Path
    base_offset: int | None
    epochs: LeaderEpochs
    files: Files
    start: int = 0

    def read(self) -> Iterator[Batch]:
        return read_segment(self.path, self.base_offset, self.epochs, self.files, self.start)


def _extents_beside(path: Path, files: Files) -> tuple[LogExtent, ...]:
    base = layout.segment_base_offset(path.name)
    if base is None:
        return ()
    try:
        return find_extents(path.parent, files.names(path.parent), files, base)
    except OSError as error:
        raise unreadable(path, error) from None


def _epochs_beside(path: Path, files: Files) -> LeaderEpochs:
    checkpoint = path.parent / layout.LEADER_EPOCH_CHECKPOINT
    if layout.segment_base_offset(path.name) is None or not files.is_file(checkpoint):
        return NO_EPOCHS
    return layout.parse_leader_epochs(read_whole(files, checkpoint), str(checkpoint))


def refuse_ordinary_topic(path: Path, batches: Iterator[Batch]) -> None:
    """Raise ``InvalidSource`` if the first data batch has no metadata record."""
    for batch in batches:
        if not batch.is_control:
            if all(isinstance(message, Undecodable) for message in batch.messages()):
                raise InvalidSource(
                    f"{path}: no metadata records in it; the log of an ordinary topic?"
                )
            return

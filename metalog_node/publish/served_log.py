"""Serves a controller's log to observers (KIP-595, KIP-630), byte for byte as in the folder.

The answer to an observer is one of three:

- The id of the newest snapshot above offset 0, if the observer's offset is not above the log's
  start. An observer that has the snapshot at the log's start gets batches instead, as from Kafka.
- A diverging epoch, if the observer has a different log.
- Batches of durable records. In a quorum of one, durable records are committed.

Reading blocks the caller. This module must not know requests, nor wait for new records.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

from metalog.disk.files import LOCAL_FILES, opened
from metalog.ids import SnapshotId, Uuid, parse_uuid
from metalog.log.folder.location import LogFolder, read_folder
from metalog.log.folder.segment import whole_batches
from metalog.log.folder.walk import segments_from
from metalog.log.folder_writer.writer import WritableDirectoryLog
from metalog.ports import LogBounds
from metalog.records.batch import decode_batch

_PLACES_KEPT: Final = 64


class Served(NamedTuple):
    """An answer to an observer. ``diverging`` is an epoch and its end offset in this log."""

    high_watermark: int
    records: bytes = b""
    diverging: tuple[int, int] | None = None
    snapshot: SnapshotId | None = None


class SnapshotChunk(NamedTuple):
    """Bytes of a snapshot's file; ``size`` is the size of the whole file."""

    size: int
    data: bytes


class ServedLog:
    """Reads a controller's folder for its observers. Use it from one thread only."""

    def __init__(self, log: WritableDirectoryLog) -> None:
        self.directory_id = _directory_id(log.folder)
        self._log = log
        self._places: OrderedDict[int, tuple[int, int]] = OrderedDict()

    def bounds(self) -> LogBounds | None:
        """The log's first and end offset; None while this node does not write the log."""
        if not self._log.is_claimed:
            return None
        bounds = self._log.bounds()
        return None if bounds.high_watermark is None else bounds

    def after(self, bounds: LogBounds, offset: int, last_epoch: int, most_bytes: int) -> Served:
        """The answer to an observer whose log ends at ``offset`` with a record of ``last_epoch``.

        Its records have at most ``most_bytes``, or are a single batch.
        """
        folder = read_folder(self._log.path, LOCAL_FILES)
        served = Served(bounds.end)
        newest = folder.snapshots[-1] if folder.snapshots else None
        follows_snapshot = (
            offset == bounds.start > 0 and SnapshotId(offset, last_epoch) in folder.snapshots
        )
        needs_snapshot = offset <= bounds.start and not follows_snapshot
        if newest is not None and newest.end_offset and needs_snapshot:
            return served._replace(snapshot=newest)
        if offset:
            epoch, end = _end_of(folder, bounds, last_epoch)
            if epoch != last_epoch or end < offset:
                return served._replace(diverging=(epoch, end))
        return served._replace(records=self._records(folder, offset, bounds.end, most_bytes))

    def snapshot_chunk(
        self, snapshot: SnapshotId, position: int, most_bytes: int
    ) -> SnapshotChunk | None:
        """A part of a snapshot's file; None if the snapshot does not exist."""
        folder = read_folder(self._log.path, LOCAL_FILES)
        if snapshot not in folder.snapshots:
            return None
        with opened(LOCAL_FILES, folder.snapshot_path(snapshot)) as file:
            size = file.size()
            wanted = max(min(most_bytes, size - position), 0)
            return SnapshotChunk(size, file.read_at(position, wanted))

    def _records(self, folder: LogFolder, offset: int, end: int, most_bytes: int) -> bytes:
        """Batches below ``end``, from the batch that contains ``offset``."""
        batches: list[bytes] = []
        size = 0
        for segment in segments_from(folder, offset):
            kept = self._places.get(offset)
            byte = kept[1] if kept is not None and kept[0] == segment and not batches else 0
            with opened(LOCAL_FILES, folder.segment_path(segment)) as file:
                for buffer, start, position, length in whole_batches(file, byte, file.size()):
                    batch = decode_batch(buffer, start)
                    if batch.next_offset > end or (batches and size + length > most_bytes):
                        return b"".join(batches)
                    if batch.next_offset <= offset:
                        continue
                    batches.append(buffer[start : start + length])
                    size += length
                    self._keep_place(batch.next_offset, segment, position + length)
        return b"".join(batches)

    def _keep_place(self, offset: int, segment: int, byte: int) -> None:
        """Remember the file position of ``offset``, where an observer's next fetch continues."""
        self._places[offset] = segment, byte
        if len(self._places) > _PLACES_KEPT:
            self._places.popitem(last=False)


def _directory_id(folder: LogFolder) -> Uuid | None:
    text = None if folder.meta_properties is None else folder.meta_properties.directory_id
    return None if text is None else parse_uuid(text)


def _end_of(folder: LogFolder, bounds: LogBounds, epoch: int) -> tuple[int, int]:
    """The largest epoch of this log up to ``epoch``, and its end offset."""
    end = bounds.end
    for start in reversed(folder.leader_epochs.starts):
        if start.epoch <= epoch:
            return start.epoch, end
        end = start.start_offset
    return epoch, min(end, bounds.start)

"""Folders with parts of a log, written by hand: one record per batch, one per second from 1970 on.

This module must not know what a test claims.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metalog.ids import SnapshotId
from metalog.log.folder.layout import PARTITION_FOLDER, segment_name, snapshot_name
from metalog.records.batch import batch_bytes, build_batch
from metalog.records.checkpoint import snapshot_batches
from metalog.records.messages import LeaderChangeMessage

EPOCH = 1


class ArchiveFolder:
    """A folder. ``segment`` adds a segment that begins with a LEADER_CHANGE; ``snapshot`` adds a
    snapshot."""

    def __init__(self, folder: Path) -> None:
        self.partition = folder / PARTITION_FOLDER
        self.partition.mkdir(parents=True)

    def segment(self, start: int, *records: Any) -> ArchiveFolder:
        everything = [LeaderChangeMessage(0, 1), *records]
        data = b"".join(
            batch_bytes(build_batch(offset, EPOCH, offset * 1000, [(record, 0)]))
            for offset, record in enumerate(everything, start)
        )
        self.segment_path(start).write_bytes(data)
        return self

    def segment_path(self, start: int) -> Path:
        return self.partition / segment_name(start)

    def snapshot(self, end: int, *records: Any) -> ArchiveFolder:
        batches = snapshot_batches(
            [(record, 0) for record in records],
            epoch=EPOCH,
            timestamp=0,
            last_contained_timestamp=(end - 1) * 1000,
        )
        self.snapshot_path(end).write_bytes(b"".join(map(batch_bytes, batches)))
        return self

    def snapshot_path(self, end: int) -> Path:
        return self.partition / snapshot_name(SnapshotId(end, EPOCH))

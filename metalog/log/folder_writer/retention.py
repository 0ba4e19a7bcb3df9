"""Deletes segments and snapshots that a newer snapshot replaces, by Kafka's retention limits.

The oldest snapshot is deleted while all segments and snapshots are larger than
``metadata.max.retention.bytes``, or while the snapshot's last record is older than
``metadata.max.retention.ms``. The newest snapshot stays. The segments below the oldest kept
snapshot are deleted, too. This module must not know when it is called.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from metalog.disk.files import Files, opened, replace_whole
from metalog.errors import InvalidRequest
from metalog.ids import SnapshotId
from metalog.log.config import LogConfig
from metalog.log.epochs import EpochStart
from metalog.log.folder import layout
from metalog.log.folder.location import LogFolder
from metalog.log.folder.single_file import read_checkpoint
from metalog.records.messages import SnapshotHeaderRecord

_log = logging.getLogger(__name__)


class RetainedSnapshot(NamedTuple):
    """A snapshot's file: its size in bytes, and the time (ms) of the last log record in it."""

    id: SnapshotId
    size: int
    timestamp: int


def snapshot_to_keep(
    snapshots: Sequence[RetainedSnapshot],
    segments: Mapping[int, int],
    config: LogConfig,
    now_ms: int,
) -> SnapshotId | None:
    """The oldest snapshot to keep; None to keep all. Pure.

    ``snapshots`` are sorted, oldest first; ``segments`` maps base offsets to sizes in bytes.
    """
    size = sum(segments.values()) + sum(each.size for each in snapshots)
    left = dict(segments)
    kept = None
    for oldest, following in pairwise(snapshots):
        too_large = 0 <= config.retention_bytes < size
        too_old = 0 <= config.retention_ms < now_ms - oldest.timestamp
        if not (too_large or too_old):
            break
        kept = following.id
        replaced = _segments_below(kept.end_offset, list(left))
        size -= oldest.size + sum(left.pop(base) for base in replaced)
    return kept


def measured(folder: LogFolder, files: Files) -> tuple[list[RetainedSnapshot], dict[int, int]]:
    """The snapshots of ``folder``, and the size in bytes of each segment by its base offset."""
    kept = [
        RetainedSnapshot(
            known, _size(folder.snapshot_path(known), files), _timestamp(folder, known, files)
        )
        for known in folder.snapshots
    ]
    return kept, {base: _size(folder.segment_path(base), files) for base in folder.segments}


def trim_folder(folder: LogFolder, before: SnapshotId, files: Files) -> None:
    """Delete the snapshots older than ``before``, and the segments completely below its end.

    The last segment stays. Each segment is deleted durably before the next, so an interruption or
    an ``OSError`` leaves no gap. Raises ``InvalidRequest`` if there is no snapshot ``before``.
    """
    if before not in folder.snapshots:
        raise InvalidRequest(f"{folder.partition}: there is no snapshot {before}")
    for base in _segments_below(before.end_offset, folder.segments):
        files.remove(folder.segment_path(base))
        files.sync_folder(folder.partition)
        _remove_beside(folder, base, files)
    for known in folder.snapshots:
        if known < before:
            files.remove(folder.snapshot_path(known))
    replace_whole(
        files,
        folder.partition / layout.LEADER_EPOCH_CHECKPOINT,
        layout.leader_epochs_bytes(_from_start(folder.leader_epochs.starts, before.end_offset)),
    )


def remove_unfinished(folder: Path, files: Files, before: SnapshotId | None = None) -> None:
    """Delete the files that ``layout.unfinished`` names; only the folder's writer may call this.

    A file that cannot be deleted stays, with a warning.
    """
    for name in layout.unfinished(files.names(folder), before):
        try:
            files.remove(folder / name)
        except OSError as error:
            _log.warning("%s: was never finished, and cannot be deleted (%s)", name, error)


def _segments_below(offset: int, bases: Sequence[int]) -> list[int]:
    """The bases of the segments that end at or before ``offset``; never the last segment."""
    return [base for base, following in pairwise(bases) if following <= offset]


def _remove_beside(folder: LogFolder, base: int, files: Files) -> None:
    for name in (
        layout.index_name(base),
        layout.time_index_name(base),
        layout.producer_state_name(base),
    ):
        if files.is_file(folder.partition / name):
            files.remove(folder.partition / name)


def _from_start(starts: Sequence[EpochStart], start: int) -> list[EpochStart]:
    """The epochs from ``start`` on. As in Kafka, the epoch in force at ``start`` begins there."""
    later = [each for each in starts if each.start_offset > start]
    earlier = [each for each in starts if each.start_offset <= start]
    return [EpochStart(earlier[-1].epoch, start), *later] if earlier else later


def _size(path: Path, files: Files) -> int:
    with opened(files, path) as file:
        return file.size()


def _timestamp(folder: LogFolder, id: SnapshotId, files: Files) -> int:
    for batch in read_checkpoint(folder.snapshot_path(id), files):
        for message in batch.messages():
            if isinstance(message, SnapshotHeaderRecord):
                return message.last_contained_log_timestamp
        break
    return 0

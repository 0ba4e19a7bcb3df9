"""Copies the records and snapshots of a log to an archive, before the controller deletes them.

An archive is a folder like a ``metadata.log.dir``, with ``archive.properties`` in place of
``meta.properties``. Its log has only records that are proven to be committed, in their original
batches and without gaps. This module must not know what the records mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from metalog.disk.files import Files, part_of, read_whole, replace_whole
from metalog.errors import CorruptLog, InvalidSource, InvalidTarget
from metalog.log.folder import layout
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder.location import unreadable
from metalog.log.folder_writer.retention import remove_unfinished
from metalog.ports import Appended, CutShort, Gap, HighWatermark, Log, SnapshotNeeded
from metalog.records.batch import Batch, batch_bytes
from metalog.records.checkpoint import check_snapshot
from snapshot.reader import read_snapshot
from snapshot.writer import write_durably

_SKIPS_RECORDS: Final = (Gap, SnapshotNeeded)
SEGMENT_BYTES = 256 << 20
"""The approximate maximum size of a new segment."""


class Archived(NamedTuple):
    """The archive has the offsets from ``start`` to ``end`` (exclusive). The run added the
    offsets from ``added_from``; ``snapshots`` counts the snapshots that it added."""

    start: int
    added_from: int
    end: int
    snapshots: int


def archive_log(
    log: Log, proven: int, target: Path, *, cluster_id: str | None, files: Files
) -> Archived:
    """Add the records and snapshots of ``log`` up to offset ``proven`` to the archive ``target``,
    which can be new.

    Raises:
        InvalidTarget: ``target`` has other files, may be the archive of another log, or is locked
            by another run.
        InvalidSource: ``log`` has a gap, begins after the archive's end, or ends before the
            archive's end.
        CorruptLog: the archive or ``log`` is damaged.
    """
    try:
        return _archived(log, proven, target, cluster_id, files)
    except BlockingIOError:
        raise InvalidTarget(f"{target}: another run is adding to it") from None


def _archived(
    log: Log, proven: int, target: Path, cluster_id: str | None, files: Files
) -> Archived:
    partition = target / layout.PARTITION_FOLDER
    _begin(target, cluster_id, files)
    lock = files.lock(target / ".lock")
    try:
        files.make_folder(partition)
        files.sync_folder(target)
        remove_unfinished(partition, files)
        existing = DirectoryLog(target, files=files) if _has_segments(partition, files) else None
        bounds = None if existing is None else existing.bounds()
        begin = _beginning(log, proven) if bounds is None else bounds.end
        if existing is not None and existing.damage is not None:
            raise existing.damage
        if begin < log.bounds().start:
            raise InvalidSource(
                f"{target}: ends at offset {begin}, and the log begins at {log.bounds().start}: "
                "the records between are gone; archive to another folder, and keep both folders"
            )
        if existing is not None:
            is_same = cluster_id is not None and existing.cluster_id == cluster_id
            _check_same_log(existing, log, begin, target, is_same_cluster=is_same)
        if cluster_id is not None and archived_cluster(target, files) is None:
            _write_properties(target, cluster_id, files)
        added = 0
        if existing is None and begin > log.bounds().start:
            added = _add_snapshots(log, proven, partition, files)
        for segment in _segments(log, begin, proven):
            path = partition / layout.segment_name(segment[0].base_offset)
            write_durably(path, segment, files)
        added += _add_snapshots(log, proven, partition, files)
        now = DirectoryLog(target, files=files)
        if now.damage is not None:
            raise now.damage
        return Archived(now.bounds().start, begin, now.bounds().end, added)
    finally:
        lock.close()


def archived_cluster(target: Path, files: Files) -> str | None:
    """The archive's cluster id; None without an archive or an id."""
    path = target / layout.ARCHIVE_PROPERTIES
    if not files.is_file(path):
        return None
    return layout.parse_archive_properties(read_whole(files, path), str(path)).cluster_id


def _begin(target: Path, cluster_id: str | None, files: Files) -> None:
    if files.is_file(target / layout.ARCHIVE_PROPERTIES):
        known = archived_cluster(target, files)
        if cluster_id is not None and known not in (None, cluster_id):
            raise InvalidTarget(f"{target}: the archive of another cluster, {known}")
        return
    unfinished = part_of(target / layout.ARCHIVE_PROPERTIES).name
    if not files.is_folder(target):
        files.make_folder(target)
        files.sync_folder(target.parent)
    elif {*files.names(target)} - {unfinished}:
        raise InvalidTarget(f"{target}: neither empty nor an archive; use a separate folder")
    _write_properties(target, cluster_id, files)


def _write_properties(target: Path, cluster_id: str | None, files: Files) -> None:
    properties = layout.archive_properties_bytes(layout.ArchiveProperties(cluster_id))
    replace_whole(files, target / layout.ARCHIVE_PROPERTIES, properties)


def _beginning(log: Log, proven: int) -> int:
    """A quorum's leader can serve observers a snapshot in place of the first records. A new archive
    then begins at the end of the newest proven snapshot."""
    start = log.bounds().start
    first = next((event for event in log.read(start) if not isinstance(event, HighWatermark)), None)
    snapshots = [each for each in log.snapshots() if each.end_offset <= proven]
    return snapshots[-1].end_offset if isinstance(first, _SKIPS_RECORDS) and snapshots else start


def _has_segments(partition: Path, files: Files) -> bool:
    try:
        return bool(layout.segments(files.names(partition)))
    except OSError as error:
        raise unreadable(partition, error) from None


def _check_same_log(
    existing: DirectoryLog, log: Log, end: int, target: Path, *, is_same_cluster: bool
) -> None:
    """Raise unless the log has the archive's last batch. If the log has deleted that batch, the
    cluster must be the same."""
    last = None
    for last in existing.batches(existing.folder.segments[-1]):  # noqa: B007 - need the last
        pass
    if last is None or last.base_offset < log.bounds().start:
        if is_same_cluster:
            return
        raise InvalidTarget(
            f"{target}: cannot verify that it is the archive of this log: the log begins at offset"
            f" {log.bounds().start}, after the archive's last batch, and the cluster ids are not"
            " equal; use another folder"
        )
    log_batch = next(_batches(log, last.base_offset, end), None)
    if log_batch is None or batch_bytes(log_batch) != batch_bytes(last):
        if log.bounds().end < end:
            raise InvalidSource(
                f"{target}: has more records than the log, which ends at offset {log.bounds().end}"
            )
        raise InvalidTarget(
            f"{target}: the archive of another log: its batch at offset {last.base_offset} differs"
        )


def _segments(log: Log, begin: int, proven: int) -> Iterator[list[Batch]]:
    """The batches to add, one list per segment, because a whole log may not fit in memory."""
    segment: list[Batch] = []
    size = 0
    expected = begin
    for batch in _batches(log, begin, proven):
        if batch.base_offset != expected:
            raise InvalidSource(
                f"offsets {expected} to {batch.base_offset - 1} are not in the log; only a log "
                "without gaps, as a quorum writes it, can be archived"
            )
        if size >= SEGMENT_BYTES:
            yield segment
            segment, size = [], 0
        segment.append(batch)
        size += batch.size
        expected = batch.next_offset
    if segment:
        yield segment


def _batches(log: Log, begin: int, end: int) -> Iterator[Batch]:
    is_all = end == log.bounds().end
    for event in log.read(begin):
        if isinstance(event, CutShort) and is_all:
            raise event.fault
        if isinstance(event, Appended):
            if event.batch.next_offset > end:
                return
            yield event.batch


def _add_snapshots(log: Log, proven: int, partition: Path, files: Files) -> int:
    """Returns the number of added snapshots. Damaged snapshots are left out."""
    archived = set(layout.snapshots(files.names(partition)))
    added = 0
    for each in log.snapshots():
        if each in archived or each.end_offset > proven:
            continue
        try:
            for _ in check_snapshot(read_snapshot(log, each)):
                pass
        except CorruptLog:
            continue
        write_durably(partition / layout.snapshot_name(each), log.open_snapshot(each), files)
        added += 1
    return added

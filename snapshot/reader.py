"""Reads intact and damaged snapshots of a log.

This module must not know where a snapshot is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from metalog.errors import CorruptLog, CorruptSnapshot
from metalog.ids import FORMATTED_SNAPSHOT, SnapshotId
from metalog.ports import Log, LogBounds
from metalog.records.batch import Batch, build_batch
from metalog.records.messages import SnapshotFooterRecord, SnapshotHeaderRecord


def read_snapshot(log: Log, id: SnapshotId) -> Iterator[Batch]:
    """All batches of a snapshot, with header and footer.

    Raises ``CorruptSnapshot`` if a batch has another epoch than the snapshot's name. Does not check
    that the snapshot is whole; ``check_snapshot`` and loaders do.
    """
    for batch in log.open_snapshot(id):
        if batch.epoch != id.epoch:
            raise CorruptSnapshot(
                f"epoch {batch.epoch} in a snapshot of epoch {id.epoch}",
                file=batch.file,
                offset=batch.base_offset,
                byte=batch.position,
            )
        yield batch


def salvaged_snapshot(log: Log, id: SnapshotId) -> Iterator[Batch]:
    """The data batches before the first unreadable batch, with a new header and footer. Only for
    ``--salvage``, because the result does not show what is missing."""
    yield build_batch(0, id.epoch, 0, [(SnapshotHeaderRecord(0, 0), 0)])
    offset = 1
    with suppress(CorruptLog):
        for batch in read_snapshot(log, id):
            batch.parts()
            if not batch.is_control:
                last_offset = offset + batch.record_count - 1
                yield batch._replace(base_offset=offset, last_offset=last_offset)
                offset = last_offset + 1
    yield build_batch(offset, id.epoch, 0, [(SnapshotFooterRecord(0), 0)])


def bases(
    offset: int, bounds: LogBounds, snapshots: Sequence[SnapshotId]
) -> list[SnapshotId | None]:
    """The snapshots from which the state at ``offset`` can be rebuilt, the newest first.

    The log has all records between each snapshot's end and ``offset``. The snapshot that formatting
    wrote counts only for an empty log. A final None means: from offset 0, without a snapshot.
    """
    found: list[SnapshotId | None] = [
        known
        for known in reversed(snapshots)
        if (known != FORMATTED_SNAPSHOT or bounds.end == 0)
        and (known.end_offset == offset or bounds.start <= known.end_offset < offset)
    ]
    if bounds.start == 0:
        found.append(None)
    return found

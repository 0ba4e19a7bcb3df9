"""Reads snapshots whole or not at all; ``salvaged_snapshot`` reads the rest of a damaged one.

A snapshot begins with its header, ends with its footer, and every batch of it has the
epoch that its name says. This module must not know where a snapshot lies.
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
    """All batches of a snapshot, header and footer included, each of the epoch that its
    name says. That it is whole is seen at its end, by ``check_snapshot`` or the loader."""
    for batch in log.open_snapshot(id):
        if batch.epoch != id.epoch:
            raise CorruptSnapshot(
                f"epoch {batch.epoch} in a snapshot whose name says {id.epoch}",
                file=batch.file,
                offset=batch.base_offset,
                byte=batch.position,
            )
        yield batch


def salvaged_snapshot(log: Log, id: SnapshotId) -> Iterator[Batch]:
    """What is left of a damaged snapshot, between a header and a footer of our own: all
    batches up to the first that cannot be read. Nothing vouches for it; ``--salvage`` only.
    """
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
    """From what the state at ``offset`` can be rebuilt, the shortest way first.

    A snapshot that ends at or before it, if the log holds what is between, but for the one
    that a node's folder was formatted with; None for the log alone, if it begins at 0. Empty
    where nothing reaches.
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

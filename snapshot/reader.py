"""Snapshots, read whole or not at all; and what can be had of one that is not whole.

A snapshot begins with its header, ends with its footer, and every batch of it has the
epoch that its name says. This module must not know where a snapshot lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metalog.errors import CorruptLog, CorruptSnapshot
from metalog.ids import SnapshotId
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


class Salvage:
    """What is left of a damaged snapshot, in a new frame; ``problem`` names the damage.

    All batches up to the first that cannot be read, between a header and a footer of our
    own. Nothing vouches for what comes out of here: it is for ``--salvage`` only.
    """

    def __init__(self, log: Log, id: SnapshotId) -> None:
        self._log = log
        self._id = id
        self.problem: CorruptLog | None = None

    def __iter__(self) -> Iterator[Batch]:
        yield build_batch(0, self._id.epoch, 0, [(SnapshotHeaderRecord(0, 0), 0)])
        offset = 1
        for batch in self._readable():
            if not batch.is_control:
                yield batch._replace(
                    base_offset=offset, last_offset=offset + batch.record_count - 1
                )
                offset += batch.record_count
        yield build_batch(offset, self._id.epoch, 0, [(SnapshotFooterRecord(0), 0)])

    def _readable(self) -> Iterator[Batch]:
        try:
            for batch in read_snapshot(self._log, self._id):
                batch.messages()
                yield batch
        except CorruptLog as error:
            self.problem = error


def bases(
    offset: int, bounds: LogBounds, snapshots: Sequence[SnapshotId]
) -> list[SnapshotId | None]:
    """From what the state at ``offset`` can be rebuilt, the shortest way first.

    A snapshot that ends at or before it, if the log holds what is between; None for the
    log alone, if it begins at 0. Empty where nothing reaches.
    """
    found: list[SnapshotId | None] = [
        known
        for known in reversed(snapshots)
        if known.end_offset == offset or bounds.start <= known.end_offset < offset
    ]
    if bounds.start == 0:
        found.append(None)
    return found

"""Snapshots, read whole or not at all.

A snapshot begins with its header, ends with its footer, and every batch of it has the
epoch that its name says. This module must not know where a snapshot lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from metalog.errors import CorruptLog, CorruptSnapshot
from metalog.ids import SnapshotId
from metalog.ports import Log, LogBounds
from metalog.records.batch import Batch
from metalog.records.checkpoint import check_snapshot


def read_snapshot(log: Log, id: SnapshotId) -> Iterator[Batch]:
    """The batches of a snapshot between its header and its footer.

    ``CorruptLog`` as soon as it is seen that the whole is not sound: who has not come to
    the end of this iterator must not use what it gave.
    """
    return check_snapshot(_of_epoch(log.open_snapshot(id), id.epoch))


class Salvage:
    """A damaged snapshot's batches up to the damage, which ``problem`` then names.

    Where only the footer is missing, that is all of it. Nothing vouches for what comes
    out of here: it is for ``--salvage`` only.
    """

    def __init__(self, log: Log, id: SnapshotId) -> None:
        self._log = log
        self._id = id
        self.problem: CorruptLog | None = None

    def __iter__(self) -> Iterator[Batch]:
        try:
            yield from read_snapshot(self._log, self._id)
        except CorruptLog as error:
            self.problem = error


def _of_epoch(batches: Iterable[Batch], epoch: int) -> Iterator[Batch]:
    for batch in batches:
        if batch.epoch != epoch:
            raise CorruptSnapshot(
                f"epoch {batch.epoch} in a snapshot whose name says {epoch}",
                file=batch.file,
                offset=batch.base_offset,
                byte=batch.position,
            )
        yield batch


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

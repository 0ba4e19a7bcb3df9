"""Checks the continuity of a log: offsets and epochs, which no CRC covers.

It refuses a gap of offsets, an epoch that falls, an epoch that rises without a LEADER_CHANGE batch,
and an epoch that contradicts the ``leader-epoch-checkpoint``. Pure. This module must not know where
batches come from.
"""

from __future__ import annotations

from metalog.errors import CorruptLog
from metalog.log.epochs import LeaderEpochs
from metalog.records.batch import Batch
from metalog.records.messages import LeaderChangeMessage

NO_EPOCHS = LeaderEpochs("")
_ABOVE_ALL_OFFSETS = 2**63


class Continuity:
    """A reader's position in a log. ``admit`` checks each batch.

    The next batch must begin at ``next_offset``. ``epoch`` is the epoch of the previous batch.
    ``admit`` does not check a value that is None.
    """

    __slots__ = ("_epochs", "_epochs_agree_below", "epoch", "next_offset")

    def __init__(
        self,
        next_offset: int | None = None,
        epoch: int | None = None,
        epochs: LeaderEpochs = NO_EPOCHS,
    ) -> None:
        self.next_offset = next_offset
        self.epoch = epoch
        self._epochs = epochs
        self._epochs_agree_below = 0

    def admit(self, batch: Batch) -> None:
        """Accept ``batch`` as the next one; ``CorruptLog`` if it cannot follow."""
        if batch.base_offset != self.next_offset and self.next_offset is not None:
            raise _at(batch, f"offset {batch.base_offset} where {self.next_offset} must follow")
        if batch.epoch != self.epoch:
            self._check_epoch(batch)
            self._check_checkpoint(batch)
        elif batch.last_offset >= self._epochs_agree_below:
            self._check_checkpoint(batch)
        self.next_offset = batch.next_offset
        self.epoch = batch.epoch

    def _check_epoch(self, batch: Batch) -> None:
        if self.epoch is None:
            return
        if batch.epoch < self.epoch:
            raise _at(batch, f"the epoch falls from {self.epoch} to {batch.epoch}")
        if not is_leader_change(batch):
            raise _at(
                batch, f"the epoch rises from {self.epoch} to {batch.epoch} without a leader change"
            )

    def _check_checkpoint(self, batch: Batch) -> None:
        """Compare with the checkpoint, which was read before the log and can lack new epochs."""
        starts = self._epochs.starts
        self._epochs_agree_below = min(
            (start.start_offset for start in starts if start.start_offset > batch.last_offset),
            default=_ABOVE_ALL_OFFSETS,
        )
        if not starts or (batch.epoch > starts[-1].epoch and batch.base_offset > starts[-1][1]):
            return
        known = self._epochs.epoch_at(batch.last_offset)
        if known is None:
            if batch.epoch > starts[0].epoch:
                raise _at(
                    batch,
                    f"epoch {batch.epoch} before offset {starts[0].start_offset}, at which"
                    f" leader-epoch-checkpoint begins with the lower epoch {starts[0].epoch}",
                )
        elif batch.epoch != known:
            raise _at(batch, f"epoch {batch.epoch} where leader-epoch-checkpoint has epoch {known}")


def is_leader_change(batch: Batch) -> bool:
    return batch.is_control and any(
        isinstance(message, LeaderChangeMessage) for message in batch.messages()
    )


def _at(batch: Batch, problem: str) -> CorruptLog:
    return CorruptLog(problem, file=batch.file, offset=batch.base_offset, byte=batch.position)

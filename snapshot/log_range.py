"""Reads a log between two offsets. This module must not know what the batches are read for."""

from __future__ import annotations

from collections.abc import Iterator

from metalog.errors import InvalidSource
from metalog.log.opening import OpenedLog
from metalog.ports import Appended, CutShort, Gap, HighWatermark


def read_range(log: OpenedLog, start: int, end: int) -> Iterator[Appended | Gap]:
    """The batches and gaps of ``log`` from the batch that contains ``start`` up to ``end``.

    Raises ``InvalidSource`` if records of the range are deleted or truncated during the read, and
    ``CorruptLog`` at damage.
    """
    reached = start
    if reached >= end:
        return
    for event in log.read(start):
        if isinstance(event, Appended):
            reached = event.batch.next_offset
        elif isinstance(event, Gap):
            reached = event.end
        elif isinstance(event, HighWatermark | CutShort):
            continue
        else:
            break
        yield event
        if reached >= end:
            return
    raise InvalidSource(
        f"{log.path}: the log was truncated while it was read: the records between offsets "
        f"{reached} and {end} are gone; retry"
    )

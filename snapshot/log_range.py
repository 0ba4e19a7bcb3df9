"""Reads a log from one offset up to another one, and says where it broke off between them.

A log may be cut while it is read: its beginning is deleted, or another leader's log takes its
place. Then there is no range, since a part of it would pass for the whole. This module must not
know what its batches are read for.
"""

from __future__ import annotations

from collections.abc import Iterator

from metalog.errors import InvalidSource
from metalog.log.opening import OpenedLog
from metalog.ports import Appended, CutShort, Gap, HighWatermark


def read_range(log: OpenedLog, start: int, end: int) -> Iterator[Appended | Gap]:
    """The batches and gaps of ``log`` from offset ``start``, or from the batch that holds it, until
    ``end`` is reached.

    Raises ``InvalidSource`` where the log was cut meanwhile, and ``CorruptLog`` at damage.
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
        f"{log.path}: the log was truncated while it was read: what is between offsets "
        f"{reached} and"
        f" {end} is not there any more; retry"
    )

"""The common part of most subjects' deltas: their records are never doubtful.

This module must not know any subject.
"""

from __future__ import annotations


class CertainDelta:
    """A delta whose records mean what they seem to mean.

    A replacement begins from the empty image, so the end of a snapshot changes nothing.
    """

    __slots__ = ()

    @property
    def doubtful(self) -> int:
        return 0

    def finish_snapshot(self) -> None:
        """End a replacement; it began empty, so there is nothing to remove."""

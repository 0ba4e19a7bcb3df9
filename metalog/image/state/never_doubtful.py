"""The common part of the deltas whose records are never doubtful.

This module must not know any subject.
"""

from __future__ import annotations


class NeverDoubtful:
    """The base of deltas without doubtful records: each record has the effect that it states."""

    __slots__ = ()

    @property
    def doubtful(self) -> int:
        return 0

    def finish_snapshot(self) -> None:
        """Do nothing, because a replacement begins from the empty image."""

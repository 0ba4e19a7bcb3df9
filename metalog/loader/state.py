"""The states of a loader: loading, ready, stale.

This module must not know how any of it comes about.
"""

from __future__ import annotations

from typing import NamedTuple

from metalog.errors import CorruptLog


class Diverged(CorruptLog):
    """The log took back what it had called committed; all of it is read anew."""


class Loading(NamedTuple):
    """Nothing was published yet; ``fault`` is the last one met, if any."""

    position: int
    high_watermark: int | None
    fault: Exception | None


class Ready(NamedTuple):
    """The image holds all that was committed below ``offset``."""

    offset: int


class Stale(NamedTuple):
    """The image in force is older than the log: ``fault``, met at ``offset``, keeps it so."""

    offset: int
    fault: Exception


State = Loading | Ready | Stale

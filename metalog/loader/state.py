"""The states of a loader: loading, ready, stale.

This module must not know what causes a state.
"""

from __future__ import annotations

from typing import NamedTuple

from metalog.errors import CorruptLog


class Diverged(CorruptLog):
    """The log lost committed records; it must be read again from its beginning."""


class Loading(NamedTuple):
    """Nothing is published yet; ``fault`` is the last fault, if any."""

    position: int
    high_watermark: int | None
    fault: Exception | None


class Ready(NamedTuple):
    """The image has all committed records below ``offset``."""

    offset: int


class Stale(NamedTuple):
    """The image in force can be older than the log, because of ``fault`` at ``offset``."""

    offset: int
    fault: Exception


State = Loading | Ready | Stale

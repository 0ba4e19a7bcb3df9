"""Measures how long the server that sends a log has been silent.

An answer or a record proves that the server is alive; the absence of errors does not. Any thread
may read ``silent_for_s``. This module must not know what an answer is.
"""

from __future__ import annotations

import time


class Contact:
    __slots__ = ("_last_s",)

    def __init__(self) -> None:
        self._last_s: float | None = None

    def heard(self) -> None:
        """Remember the time: the server is alive now."""
        self._last_s = time.monotonic()

    @property
    def silent_for_s(self) -> float | None:
        """Seconds since the last call of ``heard``; None before the first call."""
        last = self._last_s
        return None if last is None else time.monotonic() - last

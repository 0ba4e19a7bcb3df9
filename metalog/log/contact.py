"""Measures how long the peer of a log has been silent.

An answer or a record proves that the peer is alive; the absence of errors does not. Any thread may
ask a log with a peer how long it has been silent (``ports.PeerLog``). This module must not know
what an answer is.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class Contact:
    __slots__ = ("_last_s", "_monotonic_s")

    def __init__(self, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._monotonic_s = monotonic_s
        self._last_s: float | None = None

    def heard(self) -> None:
        """Note a proof, at this moment, that the peer is alive."""
        self._last_s = self._monotonic_s()

    @property
    def silent_for_s(self) -> float | None:
        """Seconds since the last proof; None before the first."""
        last = self._last_s
        return None if last is None else self._monotonic_s() - last

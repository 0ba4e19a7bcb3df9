"""When the other end of a log last proved that it lives.

An answer is proof, and so is a record; that no error was reported is none. A log that has
such an end tells for how long it has been silent (``ports.Heard``), to any thread.
This module must not know what an answer is.
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
        """It lives, just now."""
        self._last_s = self._monotonic_s()

    @property
    def silent_for_s(self) -> float | None:
        """Seconds since the last proof; None before the first."""
        last = self._last_s
        return None if last is None else self._monotonic_s() - last

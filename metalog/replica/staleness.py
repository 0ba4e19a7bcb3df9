"""Tells a loader's publishers that are a ``Gate`` how long the image has been stale.

The replica's thread can wait forever for the server that sends the log, so ``Staleness`` uses
another thread. This module must not know why an image is stale.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Final

from metalog.loader import Loader

CHECK_EVERY_S: Final = 0.1


class Staleness:
    """``stale_s`` returns how long the image has been stale, in seconds, or None."""

    def __init__(self, loader: Loader, stale_s: Callable[[], float | None]) -> None:
        self._loader = loader
        self._stale_s = stale_s
        self._was_stale = False
        self._is_closing = Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        self._thread = Thread(target=self._run, name="metalog-staleness", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._is_closing.set()
        if self._thread is not None:
            self._thread.join()

    def check(self) -> None:
        stale_s = self._stale_s()
        if stale_s is not None or self._was_stale:
            self._was_stale = stale_s is not None
            self._loader.note_staleness(round((stale_s or 0.0) * 1000))

    def _run(self) -> None:
        while not self._is_closing.wait(CHECK_EVERY_S):
            self.check()

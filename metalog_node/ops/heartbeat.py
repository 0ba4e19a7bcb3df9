"""Tells for how long the event loop has not come round: clients wait meanwhile.

The loop beats; other threads read how old the last beat is. This module must not know what
holds the loop, nor what follows from it.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

BEAT_S: Final = 0.25


class Heartbeat:
    def __init__(self) -> None:
        self._last = time.monotonic()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """On the loop that it is to watch."""
        self._task = asyncio.create_task(self._beat())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def late_s(self) -> float:
        """By how many seconds the next beat is late; 0 while it is not, from any thread."""
        return max(0.0, time.monotonic() - self._last - BEAT_S) if self._task is not None else 0.0

    async def _beat(self) -> None:
        while True:
            self._last = time.monotonic()
            await asyncio.sleep(BEAT_S)

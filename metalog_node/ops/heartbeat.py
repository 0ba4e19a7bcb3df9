"""Measures how long the event loop has been blocked. Clients are not served during that time.

The loop beats; other threads read the age of the last beat. This module must not know what blocks
the loop, nor who uses the measurement.
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
        """Start beating. Call it on the loop to watch."""
        self._task = asyncio.create_task(self._beat())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def late_s(self) -> float:
        """By how many seconds the next beat is late, or 0. Any thread may call this."""
        return max(0.0, time.monotonic() - self._last - BEAT_S) if self._task is not None else 0.0

    async def _beat(self) -> None:
        while True:
            self._last = time.monotonic()
            await asyncio.sleep(BEAT_S)

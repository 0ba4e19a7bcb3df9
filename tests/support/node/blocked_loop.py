"""Measures how long a node's event loop was blocked: the CPU time of its thread, and of its
process, between two ticks on the loop.

The thread's CPU time is that of the loop itself. The process's adds other threads that kept the
loop waiting. Neither counts what other processes did on this machine. This module must not know
what blocks the loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import NamedTuple

from metalog_node import HandledApi, Node, config_of, new_event_loop

TICK_S = 0.002


class LongestHolds(NamedTuple):
    """The longest times since the last look, in seconds."""

    by_itself: float
    by_any: float


class Ticks:
    def __init__(self) -> None:
        self._by_itself = self._by_any = 0.0

    async def run(self) -> None:
        while True:
            thread, process = time.thread_time(), time.process_time()
            await asyncio.sleep(TICK_S)
            self._by_itself = max(self._by_itself, time.thread_time() - thread)
            self._by_any = max(self._by_any, time.process_time() - process)

    def take(self) -> LongestHolds:
        held = LongestHolds(self._by_itself, self._by_any)
        self._by_itself = self._by_any = 0.0
        return held


@contextmanager
def ticking(
    properties: Mapping[str, str], apis: Mapping[int, HandledApi] | None = None
) -> Iterator[tuple[Node, Ticks]]:
    """A node with all listeners open, and the ticks of its loop."""
    opened: Future[Node] = Future()
    loop, done, ticks = new_event_loop(), asyncio.Event(), Ticks()

    async def run() -> None:
        async with Node(config_of(properties), apis=apis) as node:
            await node.ready()
            clock = asyncio.create_task(ticks.run())
            opened.set_result(node)
            await done.wait()
            clock.cancel()
            with suppress(asyncio.CancelledError):
                await clock

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(loop.run_until_complete, run())
        running.add_done_callback(
            lambda ended: opened.done() or opened.set_exception(ended.exception())
        )
        try:
            yield opened.result(30), ticks
        finally:
            loop.call_soon_threadsafe(done.set)
            running.result()
            loop.close()

"""Long requests take turns on a few threads: one at a time for each owner.

An owner with a thousand requests delays only itself. A request of another owner waits for the
running requests, and for at most one of each other owner. For one event loop. This module must not
know who an owner is, nor what is requested.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from weakref import WeakValueDictionary

R = TypeVar("R")


class RequestTurns:
    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads
        self._of: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    async def run(self, owner: Hashable, work: Callable[..., R], *arguments: Any) -> R:
        """The result of ``work``, on a thread, when it is the ``owner``'s turn."""
        turn = self._of.get(owner)
        if turn is None:
            turn = self._of[owner] = asyncio.Lock()
        async with turn:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

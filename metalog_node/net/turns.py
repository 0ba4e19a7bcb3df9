"""Long requests take turns: of each owner one at a time is answered on the threads there are.

Whoever sends a thousand of them so delays himself alone: the next owner waits for those that are
being answered, and for one of each other owner. For one event loop. This module must not know
who an owner is, nor what is asked.
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
        """What ``work`` gives, on a thread, once it is the ``owner``'s turn."""
        turn = self._of.get(owner)
        if turn is None:
            turn = self._of[owner] = asyncio.Lock()
        async with turn:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

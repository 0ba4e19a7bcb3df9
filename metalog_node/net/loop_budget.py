"""Bounds how long the work for clients blocks the event loop in one round.

Work on the loop comes in short units: a request, a small answer, a step of a TLS handshake. When
the round's budget is spent, further units wait for later rounds. Each owner, such as a client, has
its own queue, and owners take turns. Only one event loop may use a budget. This module must not
know who an owner is, nor what the work is for.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

R = TypeVar("R")
BUDGET_S: Final = 0.005
"""When units have taken this many seconds, no further unit begins until the next round."""
MOST_UNITS: Final = 64
"""The maximum number of units in one budget. A unit that waited takes time in the next round, too,
when its caller's task continues."""
_Unit = tuple[asyncio.Future[Any], Callable[[], Any]]


class LoopBudget:
    def __init__(self, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._spent_s = 0.0
        self._units = 0
        self._waiting: OrderedDict[Hashable, deque[_Unit]] = OrderedDict()
        self._is_round_scheduled = False

    async def run(self, owner: Hashable, work: Callable[..., R], *arguments: Any) -> R:
        """The result of ``work``, computed on the loop in this or a later round.

        ``work`` must not raise ``StopIteration``, which no future can hold.
        """
        if not self._waiting and self._has_time():
            return self._timed(lambda: work(*arguments))
        done: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append((done, lambda: work(*arguments)))
        return await done

    async def turn(self, owner: Hashable) -> None:
        """Return when the caller's code up to its next ``await`` may run. The budget does not
        measure this code."""
        await self.run(owner, _nothing)

    def _has_time(self) -> bool:
        return self._spent_s < BUDGET_S and self._units < MOST_UNITS

    def _timed(self, work: Callable[[], R]) -> R:
        if not self._is_round_scheduled:
            self._is_round_scheduled = True
            asyncio.get_running_loop().call_soon(self._next_round)
        began = self._clock()
        try:
            return work()
        finally:
            self._spent_s += self._clock() - began
            self._units += 1

    def _next_round(self) -> None:
        self._is_round_scheduled = False
        self._spent_s, self._units = 0.0, 0
        while self._waiting and self._has_time():
            owner, units = self._waiting.popitem(last=False)
            done, work = units.popleft()
            if units:
                self._waiting[owner] = units
            if not done.cancelled():
                self._carry_out(done, work)

    def _carry_out(self, done: asyncio.Future[Any], work: Callable[[], Any]) -> None:
        try:
            result = self._timed(work)
        except Exception as error:
            done.set_exception(error)
        else:
            done.set_result(result)


def _nothing() -> None:
    """A unit without work, for ``turn``."""


class RequestTurns:
    """Runs long requests on a few threads, at most one of each owner at a time.

    So an owner with many requests delays another owner by at most one request.
    """

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    async def run(self, owner: Hashable, work: Callable[..., R], *arguments: Any) -> R:
        """The result of ``work``, computed on a thread after the owner's earlier work has ended.

        If the caller is cancelled, ``work`` goes on, and the owner's later work still waits.
        """
        turn = self._locks.get(owner)
        if turn is None:
            turn = self._locks[owner] = asyncio.Lock()
        await turn.acquire()
        loop = asyncio.get_running_loop()

        def end_turn(_: Future[R]) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(turn.release)

        running = self._threads.submit(work, *arguments)
        running.add_done_callback(end_turn)
        return await asyncio.wrap_future(running)

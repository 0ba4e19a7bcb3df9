"""Futures made of futures, so that whoever waits blocks no thread.

What is made here is running from the start: a waiter who is cancelled does not take an answer
from the others. This module must not know what is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def after(future: Future[T], make: Callable[[Future[T]], R]) -> Future[R]:
    """``make`` of ``future`` once it is done; what ``make`` raises is the failure."""
    made: Future[R] = Future()
    made.set_running_or_notify_cancel()

    def settle(done: Future[T]) -> None:
        try:
            made.set_result(make(done))
        except Exception as error:
            made.set_exception(error)

    future.add_done_callback(settle)
    return made


def when_done(futures: Sequence[Future[T]], make: Callable[[list[T]], R]) -> Future[R]:
    """``make`` of all their results, once the last is there; the first failure if there is one."""
    whole: Future[R] = Future()
    whole.set_running_or_notify_cancel()
    waiting = list(futures)

    def settle(_: Future[T] | None) -> None:
        while waiting and waiting[-1].done():
            waiting.pop()
        if waiting:
            waiting[-1].add_done_callback(settle)
            return
        try:
            whole.set_result(make([future.result() for future in futures]))
        except Exception as error:
            whole.set_exception(error)

    settle(None)
    return whole

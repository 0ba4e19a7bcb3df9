"""Combines futures without blocking a thread, and defines the future of the initial load.

What is made here is running from the start: a waiter who is cancelled does not take an answer
from the others. This module must not know what is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from threading import Condition
from typing import TypeVar

from metalog.errors import AuthorizerNotReady, ConfigException, CorruptLog, LoadTimeout

T = TypeVar("T")
R = TypeVar("R")


_FINAL = (CorruptLog, AuthorizerNotReady)
"""Faults for which nobody is kept waiting: damage stays until a person acts, and so does an end."""


class InitialLoad(Future[None]):
    """A future that is done once the whole log was replayed, and that knows what hinders it.

    It stays pending through a fault, because the replay is tried again and may succeed;
    ``result`` and ``exception`` raise the fault instead of waiting for nothing. It cannot be
    cancelled: all listeners wait for the same one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fault: Exception | None = None
        """The last fault that kept the log from being replayed; None before the first."""
        self._news = Condition()
        self.set_running_or_notify_cancel()
        self.add_done_callback(lambda _: self._tell())

    def note_fault(self, fault: Exception) -> None:
        """Remember why the log is not replayed yet; any thread may call it. A setting that does
        not fit the log is final: no retry mends it."""
        self.fault = fault
        if isinstance(fault, ConfigException):
            with suppress(InvalidStateError):
                self.set_exception(fault)
        self._tell()

    def result(self, timeout: float | None = None) -> None:
        """Return once the log was replayed.

        Args:
            timeout: how long to wait, in seconds; None waits until it is done or damaged.

        Raises:
            CorruptLog: the log is damaged: file, offset, and what to do. Raised at once.
            LoadTimeout: the time is over; the message has the last fault. It is a
                ``TimeoutError`` too.
            AuthorizerNotReady: the authorizer or its replica was closed before.
        """
        self._wait(timeout)
        super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The exception with which it is done, or None; waits and raises as ``result``."""
        self._wait(timeout)
        return super().exception(0)

    def complete(self) -> None:
        """The log was replayed; may be called again."""
        with suppress(InvalidStateError):
            self.set_result(None)

    def _wait(self, timeout: float | None) -> None:
        with self._news:
            self._news.wait_for(lambda: self.done() or isinstance(self.fault, _FINAL), timeout)
        if self.done():
            return
        if isinstance(self.fault, _FINAL):
            raise self.fault
        why = self.fault or "nothing went wrong so far; is a started Replica feeding it?"
        after = "" if timeout is None else f" after {timeout:g} s"
        raise LoadTimeout(f"the log is not loaded{after}: {why}") from self.fault

    def _tell(self) -> None:
        with self._news:
            self._news.notify_all()


def done_future() -> Future[None]:
    """A future that was done from the beginning."""
    done: Future[None] = Future()
    done.set_result(None)
    return done


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

"""Combines futures without blocking a thread, and defines the future of the initial load.

Nobody can cancel a future of this module, because several callers can wait for it.
This module must not know what the futures stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from threading import Condition
from typing import TypeVar

from metalog.errors import AuthorizerNotReady, ConfigException, CorruptLog, LoadTimeout

T = TypeVar("T")
R = TypeVar("R")


_FINAL = (CorruptLog, AuthorizerNotReady)
"""Faults that end a wait at once: no retry repairs a damaged log, or reopens a closed replica."""


class InitialLoad(Future[None]):
    """A future that is done when the log was replayed, or when a setting does not fit the log.

    Any other fault leaves the future pending.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fault: Exception | None = None
        """The last fault of the load."""
        self._changed = Condition()
        self.set_running_or_notify_cancel()
        self.add_done_callback(lambda _: self._notify())

    def note_fault(self, fault: Exception) -> None:
        """Remember why the log is not replayed yet; any thread may call this method.

        A ``ConfigException`` completes the future, because a retry would fail too.
        """
        self.fault = fault
        if isinstance(fault, ConfigException):
            with suppress(InvalidStateError):
                self.set_exception(fault)
        self._notify()

    def result(self, timeout: float | None = None) -> None:
        """Wait until the log was replayed, at most ``timeout`` seconds; None waits without limit.

        Raises:
            CorruptLog: the log is damaged; raised at once.
            LoadTimeout: the timeout passed; the message has the last fault.
            AuthorizerNotReady: the authorizer or its replica is closed.
            ConfigException: a setting does not fit the log.
        """
        self._wait(timeout)
        super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait as ``result`` does; return the error of a completed future, or None.

        If the future is still pending after the wait, raise the errors of ``result``.
        """
        self._wait(timeout)
        return super().exception(0)

    def complete(self) -> None:
        """The log was replayed. A second call does nothing."""
        with suppress(InvalidStateError):
            self.set_result(None)

    def _wait(self, timeout: float | None) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.done() or isinstance(self.fault, _FINAL), timeout)
        if self.done():
            return
        if isinstance(self.fault, _FINAL):
            raise self.fault
        why = self.fault or "nothing went wrong so far; was the Replica started?"
        after = "" if timeout is None else f" after {timeout:g} s"
        raise LoadTimeout(f"the log is not loaded{after}: {why}") from self.fault

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()


def done_future() -> Future[None]:
    done: Future[None] = Future()
    done.set_result(None)
    return done


def after(future: Future[T], make: Callable[[Future[T]], R]) -> Future[R]:
    """Call ``make(future)`` when ``future`` is done; the new future gets the result or error."""
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
    """Call ``make(results)`` when all ``futures`` are done; the new future gets the result.

    The error of the first failed future in ``futures``, or of ``make``, fails the new future.
    """
    whole: Future[R] = Future()
    whole.set_running_or_notify_cancel()
    _settle_when_done(whole, list(futures), list(futures), make, None)
    return whole


def _settle_when_done(
    whole: Future[R],
    waiting: list[Future[T]],
    futures: list[Future[T]],
    make: Callable[[list[T]], R],
    _: Future[T] | None,
) -> None:
    while waiting and waiting[-1].done():
        waiting.pop()
    if waiting:
        again = partial(_settle_when_done, whole, waiting, futures, make)
        waiting[-1].add_done_callback(again)
        return
    try:
        whole.set_result(make([future.result() for future in futures]))
    except Exception as error:
        whole.set_exception(error)
    # Break the reference cycle: a future keeps its callbacks, and the callbacks keep all futures.
    futures.clear()

"""Delays Ctrl-C until an operation is complete.

Ctrl-C interrupts only the main thread. On any other thread, or if Python has no handler of Ctrl-C,
these functions do nothing. This module must not know the operation.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, current_thread, main_thread


@contextmanager
def first_ctrl_c() -> Iterator[Event]:
    """An event that the first Ctrl-C sets, without an interruption. The second Ctrl-C has its usual
    effect."""
    with _interruption(once=True) as interrupted:
        yield interrupted


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays Ctrl-C until the ``with`` block ends. If the block raises an error, Ctrl-C is lost."""
    with _interruption(once=False) as interrupted:
        yield
    if interrupted.is_set():
        signal.raise_signal(signal.SIGINT)


@contextmanager
def _interruption(*, once: bool) -> Iterator[Event]:
    interrupted, before = Event(), signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(before):
        yield interrupted
        return

    def note(*_: object) -> None:
        interrupted.set()
        if once:
            signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield interrupted
    finally:
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, before)

"""Shows a command's progress on stderr, if stderr is a terminal.

A thread updates the line twice a second. The thread writes to a copy of the file descriptor,
because stderr can be redirected while another process starts. This module must not know what is
being done.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic
from typing import Final, TextIO

from metalog.text.visible_text import safe
from shell.output.wrapping import terminal_width, visible_width

PATIENCE_S = 1.0
"""The line appears after this many seconds, because most commands end earlier."""
_INTERVAL_S: Final = 0.5
_CUT: Final = "…"


class ProgressLine:
    """A line on the terminal during a ``with`` block. The caller can set the text ``doing``."""

    def __init__(
        self, err: TextIO, doing: str, *, wanted: bool, patience_s: float | None = None
    ) -> None:
        self.doing = doing
        self._err = _duplicate(err) if wanted else err
        self._patience_s = PATIENCE_S if patience_s is None else patience_s
        self._since = monotonic()
        self._over = Event()
        self._drawing = Lock()
        self._is_drawn = False
        self._thread = Thread(target=self._watch, daemon=True) if wanted else None

    def __enter__(self) -> ProgressLine:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def reached(self, doing: str, offset: int, aim: int) -> None:
        self.doing = f"{doing}: offset {offset:,} of {aim:,}"

    def stop(self) -> None:
        with self._drawing:
            is_first = not self._over.is_set()
            self._over.set()
            self._wipe()
            if is_first and self._thread is not None:
                self._err.close()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A ``with`` block without the line, to write something else."""
        with self._drawing:
            self._wipe()
            yield

    def _line(self) -> str:
        """The text, cut to the terminal's width, because only one line can be erased."""
        text = safe(f"{self.doing} ({monotonic() - self._since:.0f} s)")
        width = terminal_width(self._err)
        if width is None or visible_width(text) < width:
            return text
        kept = text[: max(0, width - len(_CUT) - 1)]
        while visible_width(kept) + len(_CUT) >= width and kept:
            kept = kept[:-1]
        return kept + _CUT

    def _wipe(self) -> None:
        if self._is_drawn:
            self._err.write("\r\x1b[K")
            self._err.flush()
            self._is_drawn = False

    def _watch(self) -> None:
        wait = self._patience_s
        while not self._over.wait(wait):
            wait = _INTERVAL_S
            with self._drawing:
                if not self._over.is_set():
                    self._err.write(f"\r{self._line()}\x1b[K")
                    self._err.flush()
                    self._is_drawn = True


def _duplicate(terminal: TextIO) -> TextIO:
    descriptor = os.dup(terminal.fileno())
    return os.fdopen(descriptor, "w", encoding=terminal.encoding, errors=terminal.errors)

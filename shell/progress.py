"""What a command is at, on a terminal's stderr, while it keeps a person waiting.

A thread of its own looks at it twice a second, so that a long step shows life too, such as a
sort, which can say nothing meanwhile. It ends where the answer begins to appear on the same
terminal. This module must not know what is being done.
"""

from __future__ import annotations

from threading import Event, Lock, Thread
from time import monotonic
from types import TracebackType
from typing import Final, TextIO

from shell.safe import safe
from shell.wrapping import terminal_width, visible_width

PATIENCE_S = 1.0
"""So long nothing is shown, since most commands are done by then."""
_INTERVAL_S: Final = 0.5
_CUT: Final = "…"


class Progress:
    """A line that is drawn over and over while the ``with`` block lasts.

    ``doing`` says what goes on, and may be set as often as one likes.
    """

    def __init__(self, err: TextIO, doing: str, *, wanted: bool) -> None:
        self.doing = doing
        self._err = err
        self._since = monotonic()
        self._over = Event()
        self._drawing = Lock()
        self._is_drawn = False
        self._thread = Thread(target=self._watch, daemon=True) if wanted else None

    def __enter__(self) -> Progress:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def reached(self, doing: str, offset: int, aim: int) -> None:
        self.doing = f"{doing}: offset {offset:,} of {aim:,}"

    def stop(self) -> None:
        """Wipe the line away; no other follows."""
        with self._drawing:
            self._over.set()
            self._wipe()

    def make_way(self) -> None:
        """Wipe the line away, for something else to be written in its place."""
        with self._drawing:
            self._wipe()

    def _line(self) -> str:
        """As much as one line of the terminal holds: only one can be wiped away."""
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
        wait = PATIENCE_S
        while not self._over.wait(wait):
            wait = _INTERVAL_S
            with self._drawing:
                if not self._over.is_set():
                    self._err.write(f"\r{self._line()}\x1b[K")
                    self._err.flush()
                    self._is_drawn = True

"""The pager, started as git starts it: ``$PAGER`` (``less``), on a terminal only.

This module must not know what is paged.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from subprocess import Popen

_ENVIRONMENT: Final = {"LESS": "FRX", "LV": "-c"}


class Pager:
    """A pager that starts when the first text is written. At the end, the command waits for the
    pager."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._process: Popen[str] | None = None

    def start(self) -> TextIO | None:
        """A stream into the pager; None if the output uses no pager."""
        command = os.environ.get("PAGER", "less")
        if not self._wanted or not _can_run(command):
            return None
        from subprocess import PIPE, Popen

        self._process = Popen(  # noqa: S602
            command,
            shell=True,
            stdin=PIPE,
            env={**_ENVIRONMENT, **os.environ},
            encoding=sys.stdout.encoding,
            errors="backslashreplace",
        )
        stream: IO[str] | None = self._process.stdin
        return stream  # type: ignore[return-value]

    def finish(self) -> None:
        """Let the pager show the rest, and wait until the user leaves the pager."""
        if self._process is None:
            return
        with suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        while True:
            with suppress(KeyboardInterrupt):
                self._process.wait()
                return


def _can_run(command: str) -> bool:
    from shutil import which

    words = command.split()
    return bool(words) and words != ["cat"] and which(words[0]) is not None

"""The programs of examples/, each in a process of its own.

This module must not know what any of them does.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.kafka.cases import REPOSITORY

_PATIENCE_S = 60


class Example:
    """A running program; ``errors`` is its standard error, once it has ended."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.errors = ""

    def line(self) -> list[str]:
        """The words of the next line that it prints; empty once it has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().split()

    def said(self, first: str) -> list[str]:
        """The rest of the next line that begins with ``first``, as words."""
        while words := self.line():
            if words[0] == first:
                return words[1:]
        raise AssertionError(f"it ended: {self._process.communicate()[1]}")

    def ended(self) -> tuple[int, str]:
        """Its exit code and standard error, once it ends by itself."""
        _, self.errors = self._process.communicate(timeout=_PATIENCE_S)
        return self._process.returncode, self.errors

    def stop(self) -> None:
        """Send SIGTERM; it must end in an orderly way."""
        self._process.send_signal(signal.SIGTERM)
        code, _ = self.ended()
        assert code == 0, self.errors


@contextmanager
def example(name: str, *arguments: str | Path) -> Iterator[Example]:
    """``python examples/NAME.py ARGUMENTS``, with warnings as errors, stopped at the end."""
    command = [sys.executable, "-W", "error", REPOSITORY / "examples" / f"{name}.py", *arguments]
    process = subprocess.Popen(
        [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        started = Example(process)
        try:
            yield started
            if process.poll() is None:
                started.stop()
        finally:
            process.kill()

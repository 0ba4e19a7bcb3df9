"""Reads the lines of a shell from standard input. This module must not know what a line means."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Protocol, TextIO

from shell.output.output import Output


class LineSession(Protocol):
    """A session that ends when ``leaving`` is true."""

    @property
    def leaving(self) -> bool: ...

    @property
    def output(self) -> Output: ...

    def run_line(self, line: str) -> None: ...


def at_a_terminal() -> bool:
    """Whether both standard input and standard output are terminals."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def run_lines(session: LineSession, lines: TextIO | None) -> None:
    """Run each line, and write its answer before the next line is read."""
    if isinstance(lines, TextIOWrapper):
        lines.reconfigure(errors="replace")
    for line in lines or ():
        session.run_line(line)
        session.output.flush()
        if session.leaving:
            return

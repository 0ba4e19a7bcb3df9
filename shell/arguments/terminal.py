"""Reads what a person types or pipes: a confirmation, or the lines of a shell.

This module must not know what is confirmed, nor what a line means.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Protocol, TextIO

from metalog.errors import InvalidRequest
from shell.output.output import Output


def require_terminal(shown_on: TextIO, otherwise: str) -> None:
    """Check that a person can see and answer a question. ``otherwise`` names the options that skip
    the question.

    Raises:
        InvalidRequest: ``shown_on`` or standard input is not a terminal.
    """
    if not (sys.stdin is not None and sys.stdin.isatty() and shown_on.isatty()):
        raise InvalidRequest(f"not a terminal: to skip the prompt, pass {otherwise}")


def confirms() -> bool:
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


class LineSession(Protocol):
    """A session that runs lines until it is ``leaving``."""

    @property
    def leaving(self) -> bool: ...

    @property
    def output(self) -> Output: ...

    def run_line(self, line: str) -> None: ...


def at_a_terminal() -> bool:
    """Whether both standard input and standard output are terminals."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def run_lines(session: LineSession, lines: TextIO | None) -> None:
    """Run each of ``lines`` in turn, and write its answer before the next line is read."""
    if isinstance(lines, TextIOWrapper):
        lines.reconfigure(errors="replace")
    for line in lines or ():
        session.run_line(line)
        session.output.flush()
        if session.leaving:
            return

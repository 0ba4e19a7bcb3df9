"""Asks a person at the terminal to confirm a change. This module must not know what changes."""

from __future__ import annotations

import sys
from typing import TextIO

from metalog.errors import InvalidRequest


def require_terminal(shown_on: TextIO, otherwise: str) -> None:
    """``otherwise`` names the options that skip the question.

    Raises:
        InvalidRequest: ``shown_on`` or standard input is not a terminal.
    """
    if not (sys.stdin is not None and sys.stdin.isatty() and shown_on.isatty()):
        raise InvalidRequest(f"not a terminal: to skip the prompt, pass {otherwise}")


def confirms() -> bool:
    return sys.stdin.readline().strip().casefold() in ("y", "yes")

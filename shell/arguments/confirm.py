"""Asks a person before something is done: only where one is there to answer.

This module must not know what is done.
"""

from __future__ import annotations

import sys
from typing import TextIO

from metalog.errors import InvalidRequest


def need_somebody(shown_on: TextIO, otherwise: str) -> None:
    """``InvalidRequest`` where nobody reads ``shown_on`` or nobody can type an answer."""
    if not (sys.stdin is not None and sys.stdin.isatty() and shown_on.isatty()):
        raise InvalidRequest(f"not a terminal: to skip the prompt, pass {otherwise}")


def says_yes() -> bool:
    return sys.stdin.readline().strip().casefold() in ("y", "yes")

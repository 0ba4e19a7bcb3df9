"""Whole numbers in text that somebody else wrote.

Python refuses to read a number of more than some thousand digits, by an error of its own, and takes
digits of every script. This module must not know what is counted.
"""

from __future__ import annotations

from typing import Final

_MOST_DIGITS: Final = 10


def whole_number(text: str) -> int | None:
    """The number that ASCII digits write, ten of them at most; None where ``text`` is not one."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else None

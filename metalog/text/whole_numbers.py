"""Reads whole numbers from text that a user or another program wrote.

Python's ``int`` accepts digits of every script, and raises its own error for thousands of digits.
This module must not know what the number means.
"""

from __future__ import annotations

from typing import Final

_MOST_DIGITS: Final = 10


def whole_number(text: str) -> int | None:
    """The number in ``text``, at most ten ASCII digits; None if ``text`` is not such a number."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else None

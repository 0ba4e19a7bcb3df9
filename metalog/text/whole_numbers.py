"""Reads whole numbers from text that a user or another program wrote.

Python's ``int`` accepts digits of every script, and raises its own error for thousands of digits.
This module must not know what the number means.
"""

from __future__ import annotations

import re
from typing import Final

_MOST_DIGITS: Final = 10
_JAVA: Final = re.compile(r"\s*([+-]?[0-9]{1,40})\s*", re.ASCII)


def whole_number(text: str) -> int | None:
    """The number in ``text``, at most ten ASCII digits; None if ``text`` is not such a number."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else None


def java_number(text: str, *, bits: int, least: int) -> int | None:
    """The number in ``text``, as Kafka reads a configuration's ``int`` or ``long``.

    None if ``text`` is not a whole number, or the number is below ``least`` or does not fit into
    ``bits`` bits.
    """
    found = _JAVA.fullmatch(text)
    number = None if found is None else int(found[1])
    return number if number is not None and least <= number < 1 << bits - 1 else None

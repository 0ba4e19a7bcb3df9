"""Escapes the ``UNSAFE`` characters of a text, so that no text can control a terminal.

This module must not know what the text is about, or where it is printed.
"""

from __future__ import annotations

import re
from typing import Final

UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160"
    "\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Unicode's categories Cc, Cf, Cs, Zl and Zp, its property Default_Ignorable_Code_Point, and the
two symbols that are blank: U+2800 and U+1D159."""


def safe(text: str) -> str:
    """``text`` with a JSON escape for each ``UNSAFE`` character."""
    if text.isascii() and text.isprintable():  # most texts, and faster than UNSAFE
        return text
    return UNSAFE.sub(json_escape, text)


def json_escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 | code >> 10:04x}\\u{0xDC00 | code & 0x3FF:04x}"


_MISREAD: Final = re.compile(r'^$|^[\s"]|\s$|\s\s|[^\S ]')


_BLANK_EXCEPT_SPACE: Final = re.compile(r"[^\S ]")


def shown(name: str) -> str:
    """``name`` as one column of a line; in JSON's quotes if it could be misread (not ``a b``)."""
    if _MISREAD.search(name) or UNSAFE.search(name):
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{_BLANK_EXCEPT_SPACE.sub(json_escape, safe(escaped))}"'
    return name


_LONG: Final = re.compile(r"\S{1001,}")


_KEPT_CHARACTERS: Final = 60


def shortened(message: str) -> str:
    """``message``; a word of more than 1,000 characters becomes its beginning and its length."""
    return _LONG.sub(_beginning, message)


def _beginning(match: re.Match[str]) -> str:
    return f"{match[0][:_KEPT_CHARACTERS]}… ({len(match[0]):,} characters)"

"""Text in which every character is plainly visible: nothing in it moves a terminal's cursor.

What is not visible becomes an escape of JSON. This module must not know what the text is about,
or where it is printed.
"""

from __future__ import annotations

import re
from typing import Final

UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180e"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Controls, separators of lines, direction marks, and letters that have no width."""


def safe(text: str) -> str:
    """``text`` with each character escaped that is not plainly visible, as JSON escapes."""
    return UNSAFE.sub(json_escape, text)


def json_escape(match: re.Match[str]) -> str:
    """The one character that was found, as JSON may write it."""
    code = ord(match.group())
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 | code >> 10:04x}\\u{0xDC00 | code & 0x3FF:04x}"

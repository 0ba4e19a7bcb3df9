"""Names as a terminal may see them: nothing in a name can move the cursor or hide a letter.

``safe`` escapes what is not visible text. ``shown`` also quotes the names that a
reader would misread, so that no two different names look the same in a column.

This module must not know what the text is about, or where it is printed.
"""

from __future__ import annotations

import re
from typing import Final

_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180e"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Controls, separators of lines, direction marks, and letters that have no width."""

_BEGINS_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_MISREAD: Final = re.compile(r'^$|^[\s"]|\s$|\s\s|[^\S ]')


def safe(text: str) -> str:
    """``text`` with each character escaped that is not plainly visible, as JSON escapes."""
    return _UNSAFE.sub(_escape, text)


def inert(cell: object) -> object:
    """A cell of CSV: text is safe for a terminal, and stays text in a spreadsheet, which would
    take some names for formulas; whoever chose a name could have them computed."""
    if not isinstance(cell, str):
        return cell
    return f"'{safe(cell)}" if cell.startswith(_BEGINS_FORMULA) else safe(cell)


def shown(name: str) -> str:
    """``name`` as one cell of a line: in JSON's quotes where it would otherwise be misread."""
    if _MISREAD.search(name) or _UNSAFE.search(name):
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{_BLANK.sub(_escape, safe(escaped))}"'
    return name


_BLANK: Final = re.compile(r"[^\S ]")


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 | code >> 10:04x}\\u{0xDC00 | code & 0x3FF:04x}"

"""Names as a terminal may see them: nothing in a name can move the cursor or hide a letter.

``safe`` escapes what is not visible text. ``shown`` also quotes the names that a
reader would misread, so that no two different names look the same in a column.

This module must not know what the text is about, or where it is printed.
"""

from __future__ import annotations

import re
from typing import Final

from metalog.visible_text import UNSAFE, json_escape, safe

__all__ = ["safe", "shortened", "shown"]

_MISREAD: Final = re.compile(r'^$|^[\s"]|\s$|\s\s|[^\S ]')
_BLANK: Final = re.compile(r"[^\S ]")
_LONG: Final = re.compile(r"\S{1001,}")
_BEGINNING: Final = 60


def shown(name: str) -> str:
    """``name`` as one cell of a line: in JSON's quotes where it would otherwise be misread."""
    if _MISREAD.search(name) or UNSAFE.search(name):
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{_BLANK.sub(json_escape, safe(escaped))}"'
    return name


def shortened(message: str) -> str:
    """``message`` with the beginning and the length of what is too long to be read in it."""
    return _LONG.sub(_beginning, message)


def _beginning(match: re.Match[str]) -> str:
    return f"{match[0][:_BEGINNING]}… ({len(match[0]):,} characters)"

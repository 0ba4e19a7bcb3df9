"""Cells of CSV that a terminal shows as they are, and a spreadsheet takes for text.

Whoever chose a name could otherwise move a cursor with it, or have a formula computed. Such a text
is written after an apostrophe, by which spreadsheets know a text, with the escapes of JSON; a
backslash is doubled then. Different texts stay different, and ``csv_text`` undoes it.

This module must not know what the cells are about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from metalog.visible_text import UNSAFE, safe

_ESCAPED: Final = "'"
_BEGINNINGS: Final = (*"=+-@\uff1d\uff0b\uff0d\uff20", _ESCAPED)
"""Of formulas, in half and in full width, and of what could be taken for escaped."""
_TO_QUOTE: Final = re.compile(r'[",]|^#|^\s|\s$')
"""What begins like a comment, too: it may be the first cell of a row."""


def csv_row(cells: Iterable[object]) -> str:
    """The cells as a line, with its end; ``None`` is an empty cell."""
    return ",".join(map(_cell, cells)) + "\n"


def is_escaped(text: str) -> bool:
    """Whether a cell holds ``text`` in another form, which other readers do not undo."""
    return text.startswith(_BEGINNINGS) or UNSAFE.search(text) is not None


def csv_text(cell: str) -> str:
    """The text that ``cell`` was written from. A cell that nobody would write so is that text."""
    if not cell.startswith(_ESCAPED):
        return cell
    quotes = cell[1:].replace('"', '\\"')
    try:
        text: str = json.loads(f'"{quotes}"')
    except ValueError:
        return cell
    return text if is_escaped(text) and _escape(text) == cell else cell


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = str(value)
    if not isinstance(value, int | float) and is_escaped(text):
        text = _escape(text)
    return '"' + text.replace('"', '""') + '"' if _TO_QUOTE.search(text) else text


def _escape(text: str) -> str:
    return _ESCAPED + safe(text.replace("\\", "\\\\"))

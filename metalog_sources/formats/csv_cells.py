"""Writes cells of CSV that cannot control a terminal and that a spreadsheet does not run.

A text that could control a terminal or be a formula gets JSON's escapes and a leading apostrophe:
spreadsheets read such a cell as text. ``csv_text`` restores the text. This module must not know
what the cells are about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from metalog.text.visible_text import UNSAFE, safe

_ESCAPED: Final = "'"
_BEGINNINGS: Final = (*"=+-@\uff1d\uff0b\uff0d\uff20", _ESCAPED)
"""The first characters of formulas, in half and full width, and of escaped cells."""
_TO_QUOTE: Final = re.compile(r'[",]|^#|^\s|\s$')
"""Cells that need quotes. Some tools take a row that begins with # for a comment."""


def csv_row(cells: Iterable[object]) -> str:
    """One line with its line end; ``None`` is an empty cell."""
    return ",".join(map(_cell, cells)) + "\n"


def needs_escape(text: str) -> bool:
    """Whether ``csv_row`` escapes ``text``. Only ``csv_text`` undoes the escape."""
    return text.startswith(_BEGINNINGS) or UNSAFE.search(text) is not None


def csv_text(cell: str) -> str:
    """``cell`` without the escapes of this module."""
    if not cell.startswith(_ESCAPED):
        return cell
    escaped = cell[1:].replace('"', '\\"')
    try:
        text: str = json.loads(f'"{escaped}"')
    except ValueError:
        return cell
    return text if needs_escape(text) and _escape(text) == cell else cell


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = str(value)
    if not isinstance(value, int | float) and needs_escape(text):
        text = _escape(text)
    return '"' + text.replace('"', '""') + '"' if _TO_QUOTE.search(text) else text


def _escape(text: str) -> str:
    return _ESCAPED + safe(text.replace("\\", "\\\\"))

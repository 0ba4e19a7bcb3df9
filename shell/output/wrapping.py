"""Wraps lines to a terminal's width, only between words or columns.

This module must not know what the text says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final, TextIO

from metalog.text.whole_numbers import whole_number

_WORDS: Final = re.compile(r"\s+|\S+")
_STYLE: Final = re.compile(r"\x1b\[[0-9;]*m")
_GAP: Final = "  "
_SIGN_WIDTH: Final = 2


def terminal_width(stream: TextIO) -> int | None:
    """The columns of the terminal behind ``stream``; None if unknown, or without a terminal."""
    if not stream.isatty():
        return None
    if columns := whole_number(os.environ.get("COLUMNS", "")):
        return columns
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except OSError:
        return None


def visible_width(text: str) -> int:
    """The number of columns of ``text``, which can have styles."""
    return text_width(_STYLE.sub("", text))


def text_width(text: str) -> int:
    """The number of columns of ``text``, which must not have styles."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(
        0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text
    )


def wrapped(text: str, width: int, indent: int) -> list[str]:
    """``text`` in lines of at most ``width`` columns; all lines but the first are indented.

    A longer word is not cut.
    """
    if visible_width(text) <= width:
        return [text]
    lines: list[str] = []
    line = ""
    for word in _WORDS.findall(text):
        has_words = bool(line.strip())
        if word.isspace():
            line += word if has_words or not lines else ""
        elif has_words and visible_width(line) + visible_width(word) > width:
            lines.append(line.rstrip())
            line = " " * indent + word
        else:
            line += word
    return [*lines, line.rstrip()]


def wrapped_row(cells: Sequence[str], width: int, indent: int) -> list[str]:
    """A row as lines. A cell that does not fit begins a line; a sign such as ``+`` stays with the
    next cell."""
    lines: list[list[str]] = [[]]
    used = 0
    for cell in cells:
        line, columns = lines[-1], visible_width(cell)
        can_fit = columns <= width - indent or " " in cell.strip()
        if line and used + columns > width and can_fit:
            is_sign = len(line) > 1 and visible_width(line[-1].strip()) <= _SIGN_WIDTH
            lines.append([line.pop()] if is_sign else [])
            used = indent + sum(visible_width(each) + len(_GAP) for each in lines[-1])
        lines[-1].append(cell)
        used += columns + len(_GAP)
    texts = [_GAP.join(line).rstrip() for line in lines]
    hung = [texts[0], *(" " * indent + text for text in texts[1:])]
    return [line for text in hung for line in wrapped(text, width, indent)]

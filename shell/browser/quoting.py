"""Splits a typed line into words, by the quoting rules of a POSIX shell (without ``$``, ``;``,
``|``).

Each word is a glob. ``cat User:*`` names all users, and ``cat 'User:*'`` names the one principal
``User:*``. This module must not know what the words mean.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from metalog.errors import InvalidRequest
from shell.browser.globs import literal

_BLANKS: Final = frozenset(" \t\r\n")
_NEEDS_QUOTING: Final = _BLANKS | frozenset("'\"")
_ESCAPABLE_IN_DOUBLE_QUOTES: Final = frozenset('"\\$`')


class SplitLine(NamedTuple):
    """The words of a line.

    The last word can be incomplete, and is empty if the line ends between words. It begins at the
    index ``last_start``. ``open_quote`` is the quote or backslash that is not closed, or empty.
    """

    words: list[str]
    last_start: int
    open_quote: str


def scan(line: str) -> SplitLine:
    words: list[str] = []
    word: list[str] = []
    start: int | None = None
    quote = ""
    escaping = False
    for at, character in enumerate(line):
        if not escaping and not quote and character in _BLANKS:
            if start is not None:
                words.append("".join(word))
                word, start = [], None
            continue
        start = at if start is None else start
        if escaping:
            keeps_backslash = quote and character not in _ESCAPABLE_IN_DOUBLE_QUOTES
            word.append(literal(f"\\{character}" if keeps_backslash else character))
            escaping = False
        elif character == "\\" and quote != "'":
            escaping = True
        elif quote:
            if character == quote:
                quote = ""
            else:
                word.append(literal(character))
        elif character in "'\"":
            quote = character
        else:
            word.append(character)
    words.append("".join(word))
    return SplitLine(
        words,
        last_start=len(line) if start is None else start,
        open_quote="\\" if escaping else quote,
    )


def split(line: str) -> list[str]:
    """The words of a complete line.

    Raises:
        InvalidRequest: a quote is not closed, or the line ends with a backslash.
    """
    scanned = scan(line)
    if scanned.open_quote:
        raise InvalidRequest(f"a {scanned.open_quote} is not closed")
    ends_in_word = scanned.last_start < len(line)
    return scanned.words if ends_in_word else scanned.words[:-1]


def quoted(glob: str) -> str:
    """``glob``, quoted so that ``split`` returns it again."""
    return "".join(f"\\{c}" if c in _NEEDS_QUOTING else c for c in glob)

r"""A typed line to words, by the quoting rules of a POSIX shell (without ``$``, ``;``, ``|``).

A word comes out as a glob: a character that was quoted and is special to a glob has a
backslash before it, so that ``cat 'User:*'`` means the one principal of that name and
``cat User:*`` all users. This module must not know what the words mean.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from metalog.errors import InvalidRequest
from shell.browser.globs import literal

_BLANKS: Final = frozenset(" \t\r\n")
_NEEDS_QUOTING: Final = _BLANKS | frozenset("'\"")
_ESCAPABLE_IN_DOUBLE_QUOTES: Final = frozenset('"\\$`')


class SplitLine(NamedTuple):
    """The words of a line, the last of which may still be being typed.

    ``last_start`` is where in the line the last word begins; the last word is empty
    where the line ends between words. ``open_quote`` is the quote (or the backslash)
    that is not closed.
    """

    words: list[str]
    last_start: int
    open_quote: str


def scan(line: str) -> SplitLine:
    """All words of ``line`` and the state in which it ends."""
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
            kept = quote and character not in _ESCAPABLE_IN_DOUBLE_QUOTES
            word.append(literal(f"\\{character}" if kept else character))
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
    """The words of a finished line; ``InvalidRequest`` where a quote is left open."""
    scanned = scan(line)
    if scanned.open_quote:
        raise InvalidRequest(f"a {scanned.open_quote} is not closed")
    finished = scanned.last_start < len(line)
    return scanned.words if finished else scanned.words[:-1]


def typed(glob: str) -> str:
    """``glob`` as it is typed on a line, so that ``split`` gives it back."""
    return "".join(f"\\{c}" if c in _NEEDS_QUOTING else c for c in glob)

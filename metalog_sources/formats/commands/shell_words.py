"""Splits commands into words as bash does, with quotes, ``$'…'``, backslashes and comments.

Variables (``$NAME``) stay unchanged. Other text that bash would expand (braces, ``~``, file names)
or run (a pipe, a substitution) is an error. So an accepted script without variables gives the same
words as in bash. This module must not know any command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog_sources.formats.document import FilePosition
from metalog_sources.formats.nodes.nodes import Lines, fault

_BLANKS: Final = re.compile(r"(?:[ \t]|\\\n)*")
_CONTINUED: Final = "\\\n"
_PLAIN: Final = re.compile(r"[^ \t\n\r'\"\\$;&|<>()`{*?\[~]+")
_QUOTED_PLAIN: Final = re.compile(r'[^"\\$`]+')
_VARIABLE: Final = re.compile(
    r"\$(?:[A-Za-z_][A-Za-z_0-9]*|[0-9#?*@!$-]|\{[A-Za-z_][A-Za-z_0-9]*\})"
)
_REFUSED_DOLLARS: Final = ("$(", "$[", "${", "$\\\n")
"""Refused, except ``${NAME}``. bash joins a ``$`` at the end of a continued line with the next
line."""
_ANSI: Final = re.compile(
    r"\\(?:x(?P<hex>[0-9a-fA-F]{1,2})|u(?P<u>[0-9a-fA-F]{1,4})|U(?P<U>[0-9a-fA-F]{1,8})"
    r"|(?P<octal>[0-7]{1,3})|(?P<unsupported>c|x\{)|(?P<one>.))|(?P<text>[^\\']+)",
    re.DOTALL,
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"} | {
    **dict.fromkeys("eE", "\x1b"),
    **{mark: mark for mark in "\\'\"?"},
}
_ESCAPED_IN_QUOTES: Final = '"\\$`'
_GLOBS: Final = "*?["
_ONE_A_LINE: Final = "write one command per line"


class Command(NamedTuple):
    """``with_variables`` are the words in which a shell would replace a ``$NAME``."""

    words: list[str]
    with_variables: frozenset[str]
    position: FilePosition


def commands(text: str, file: str) -> Iterator[Command]:
    """The commands in a script."""
    splitter = _Splitter(text, file)
    while (command := splitter.command()) is not None:
        if command.words:
            yield command


class _Splitter:
    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._lines = Lines(text, file)
        self._at = 0
        self._has_variable = False
        if (nul := text.find("\0")) >= 0:
            raise fault(self._lines.position(nul), "a NUL byte, which bash leaves out; remove it")

    def command(self) -> Command | None:
        if self._at >= len(self._text):
            return None
        words: list[str] = []
        with_variables = set()
        position = None
        while self._at < len(self._text):
            self._skip_blanks()
            mark = self._text[self._at : self._at + 1]
            if mark == "\n" or (mark == ";" and words):
                self._at += 1
                break
            if mark == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif mark:
                position = position or self._position()
                self._has_variable = False
                words.append(self._word())
                if self._has_variable:
                    with_variables.add(words[-1])
        return Command(words, frozenset(with_variables), position or self._position())

    def _skip_blanks(self) -> None:
        if match := _BLANKS.match(self._text, self._at):
            self._at = match.end()

    def _word(self) -> str:
        parts: list[str] = []
        start = self._at
        while mark := self._text[self._at : self._at + 1]:
            if self._text.startswith(_CONTINUED, self._at):
                self._at += len(_CONTINUED)
            elif plain := _PLAIN.match(self._text, self._at):
                self._at = plain.end()
                parts.append(plain[0])
            elif self._text.startswith("$'", self._at):
                parts.append(self._ansi())
            elif mark == "$" and not self._text.startswith('$"', self._at):
                parts.append(self._dollar())
            elif mark in "\\'\"":
                parts.append(self._quoted(mark))
            elif mark == "~" and parts and not parts[-1].endswith(("=", ":")):
                self._at += 1
                parts.append(mark)
            elif mark in " \t\n" or (mark == ";" and self._at > start):
                break
            else:
                raise self._unsupported(mark)
        return "".join(parts)

    def _quoted(self, mark: str) -> str:
        if mark == "\\":
            escaped = self._text[self._at + 1 : self._at + 2]
            if not escaped:
                raise fault(self._position(), "a backslash with nothing after it; remove it")
            if escaped == "\r":
                raise self._unsupported(escaped)
            self._at += 2
            return escaped
        if mark == "'":
            end = self._text.find("'", self._at + 1)
            if end < 0:
                raise self._unclosed()
            found, self._at = self._text[self._at + 1 : end], end + 1
            return found
        return self._double_quoted()

    def _double_quoted(self) -> str:
        parts: list[str] = []
        start = self._at
        self._at += 1
        while mark := self._text[self._at : self._at + 1]:
            if plain := _QUOTED_PLAIN.match(self._text, self._at):
                self._at = plain.end()
                parts.append(plain[0])
            elif mark == '"':
                self._at += 1
                return "".join(parts)
            elif mark == "\\":
                follows = self._text[self._at + 1 : self._at + 2]
                kept = "" if follows in _ESCAPED_IN_QUOTES or follows == "\n" else mark
                parts.append(kept + follows.strip("\n"))
                self._at += 2
            elif mark == "$":
                parts.append(self._dollar())
            else:
                raise self._unsupported(mark)
        self._at = start
        raise self._unclosed()

    def _dollar(self) -> str:
        if match := _VARIABLE.match(self._text, self._at):
            self._has_variable = True
            self._at = match.end()
            return match[0]
        if self._text.startswith(_REFUSED_DOLLARS, self._at):
            raise self._unsupported("$")
        self._at += 1
        return "$"

    def _ansi(self) -> str:
        parts: list[bytes] = []
        at = self._at + 2
        while match := _ANSI.match(self._text, at):
            at = match.end()
            parts.append(self._ansi_bytes(match))
        if self._text[at : at + 1] != "'":
            raise self._unclosed()
        position, self._at = self._position(), at + 1
        try:
            return b"".join(parts).decode()
        except UnicodeDecodeError:
            raise fault(position, "the escapes in $'…' are not UTF-8") from None

    def _ansi_bytes(self, match: re.Match[str]) -> bytes:
        if match["text"]:
            return match["text"].encode("utf-8", "replace")
        code = match["u"] or match["U"]
        number = int(code or match["hex"] or "0", 16) or int(match["octal"] or "0", 8)
        if match["one"]:
            escaped = match["one"]
            return (_ESCAPES.get(escaped) or f"\\{escaped}").encode("utf-8", "replace")
        if not number & (-1 if code else 0xFF) or number > 0x10FFFF or match["unsupported"]:
            position = self._lines.position(match.start())
            raise fault(position, f"{match[0]} is not supported in $'…'; write the character")
        return chr(number).encode("utf-8", "surrogatepass") if code else bytes([number & 0xFF])

    def _unsupported(self, mark: str) -> InvalidRequest:
        why = f"{mark} is not supported; {_ONE_A_LINE}"
        if mark == "\r":
            why = "a carriage return, which bash reads as part of the word; use LF line ends"
        elif mark == "$":
            opened = self._text[self._at : self._at + 2].strip()
            why = f"{opened} is not supported, only $NAME and ${{NAME}} are; write the text itself"
        elif mark in _GLOBS:
            why = f"bash can replace an unquoted {mark} by file names; write '{mark}'"
        elif mark in "{~":
            why = f"bash expands an unquoted {mark}; write the expanded text, or '{mark}'"
        return fault(self._position(), why)

    def _unclosed(self) -> InvalidRequest:
        return fault(self._position(), "a quote is not closed")

    def _position(self) -> FilePosition:
        return self._lines.position(self._at)

"""Commands as bash splits them into words: quotes, ``$'…'``, backslashes, comments, lines.

Nothing is expanded: ``$NAME`` stays as it is written, and what would run something else (a
pipe, a substitution) is refused. This module must not know any command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from metalog.errors import InvalidRequest
from snapshot.exchange.formats.document import Place
from snapshot.exchange.formats.nodes import fault

_PLAIN: Final = re.compile(r"[^\s'\"\\#$;&|<>()`]+|\$(?!['(])|#")
_ANSI: Final = re.compile(
    r"\\(?:x(?P<hex>[0-9a-fA-F]{1,2})|u(?P<u>[0-9a-fA-F]{1,4})|U(?P<U>[0-9a-fA-F]{1,8})"
    r"|(?P<one>.))|(?P<text>[^\\']+)",
    re.DOTALL,
)
_ONE: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_IN_QUOTES: Final = '"\\$`'


class Command(NamedTuple):
    """``variables`` are the words in which a shell would put the value of a ``$NAME``."""

    words: list[str]
    variables: frozenset[str]
    place: Place


def commands(text: str, file: str) -> Iterator[Command]:
    """Each command of a script with at least one word, and the line that it begins on."""
    splitter = _Splitter(text, file)
    while (command := splitter.command()) is not None:
        if command.words:
            yield command


class _Splitter:
    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._at = 0
        self._has_variable = False

    def command(self) -> Command | None:
        if self._at >= len(self._text):
            return None
        words: list[str] = []
        variables = set()
        place = self._place()
        while self._at < len(self._text):
            mark = self._text[self._at]
            if mark in "\n;":
                self._at += 1
                break
            if self._text.startswith("\\\n", self._at):
                self._at += 2
            elif mark.isspace():
                self._at += 1
            elif mark == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            else:
                place = place if words else self._place()
                self._has_variable = False
                words.append(self._word())
                if self._has_variable:
                    variables.add(words[-1])
        return Command(words, frozenset(variables), place)

    def _word(self) -> str:
        parts = []
        text = self._text
        while self._at < len(text) and not text[self._at].isspace() and text[self._at] != ";":
            if text.startswith("\\\n", self._at):
                break
            if plain := _PLAIN.match(text, self._at):
                self._at = plain.end()
                self._has_variable = self._has_variable or plain[0] == "$"
                parts.append(plain[0])
            elif text.startswith("$'", self._at):
                parts.append(self._ansi())
            else:
                parts.append(self._quoted(text[self._at]))
        return "".join(parts)

    def _quoted(self, mark: str) -> str:
        if mark == "\\":
            self._at += 2
            return self._text[self._at - 1 : self._at]
        if mark == "'":
            end = self._text.find("'", self._at + 1)
            if end < 0:
                raise self._unclosed()
            found, self._at = self._text[self._at + 1 : end], end + 1
            return found
        if mark == '"':
            return self._double_quoted()
        raise self._not_read(mark)

    def _double_quoted(self) -> str:
        parts: list[str] = []
        at = self._at + 1
        while at < len(self._text):
            mark = self._text[at]
            if mark == '"':
                self._at = at + 1
                return "".join(parts)
            if mark == "\\" and (follows := self._text[at + 1 : at + 2]):
                parts.append(
                    follows if follows in _IN_QUOTES else "" if follows == "\n" else mark + follows
                )
                at += 1
            elif mark == "`" or self._text.startswith("$(", at):
                raise fault(
                    self._place(), f"{mark} is not read; write one kafka-acls command a line"
                )
            else:
                self._has_variable = self._has_variable or mark == "$"
                parts.append(mark)
            at += 1
        raise self._unclosed()

    def _ansi(self) -> str:
        parts: list[bytes] = []
        at = self._at + 2
        while found := _ANSI.match(self._text, at):
            at = found.end()
            parts.append(_ansi_bytes(found))
        if self._text[at : at + 1] != "'":
            raise self._unclosed()
        place, self._at = self._place(), at + 1
        try:
            return b"".join(parts).decode()
        except UnicodeDecodeError:
            raise fault(place, "the escapes in $'…' are no UTF-8") from None

    def _not_read(self, mark: str) -> InvalidRequest:
        return fault(self._place(), f"{mark} is not read; write one kafka-acls command a line")

    def _unclosed(self) -> InvalidRequest:
        return fault(self._place(), "a quote is not closed")

    def _place(self) -> Place:
        start = self._text.rfind("\n", 0, self._at) + 1
        return Place(self._file, self._text.count("\n", 0, self._at) + 1, self._at - start + 1)


def _ansi_bytes(found: re.Match[str]) -> bytes:
    if found["hex"]:
        return bytes([int(found["hex"], 16)])
    code = found["u"] or found["U"]
    if code:
        return chr(min(int(code, 16), 0x10FFFF)).encode("utf-8", "replace")
    text = found["text"] or _ONE.get(found["one"], found["one"])
    return text.encode("utf-8", "replace")

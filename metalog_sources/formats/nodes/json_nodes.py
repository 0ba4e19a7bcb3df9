"""Reads JSON text into nodes: one value, or consecutive values as in JSON lines.

This module must not know what the nodes mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from json import JSONDecodeError, JSONDecoder
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Final, TypeVar

from metalog.errors import InvalidRequest
from metalog_sources.formats.document import FilePosition
from metalog_sources.formats.nodes.nodes import MAX_DEPTH, Fields, Items, Lines, Node, Text, fault

Short = TypeVar("Short")

_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_WORD: Final = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def json_values(text: str, file: str) -> Iterator[Node]:
    """The values in ``text``; ``InvalidRequest`` if ``text`` is not JSON."""
    reader = _Reader(text, file)
    while reader.offset < len(text):
        yield reader.value(0)
        reader.skip()


def json_values_or(
    text: str, file: str, shortcut: Callable[[dict[str, str], FilePosition], Short | None]
) -> Iterator[Node | Short]:
    """Like ``json_values``, with a fast path for objects whose values are all texts.

    ``shortcut`` converts such an object; if ``shortcut`` returns None, the object becomes nodes.
    """
    reader = _Reader(text, file)
    while reader.offset < len(text):
        plain = reader.plain_object()
        made = None if plain is None else shortcut(plain[0], reader.position())
        if plain is None or made is None:
            yield reader.value(0)
        else:
            yield made
            reader.offset = plain[1]
        reader.skip()


def _plain(pairs: list[tuple[str, object]]) -> dict[str, object] | None:
    """The pairs as a dict; None if a key is repeated or a value is not text."""
    values = dict(pairs)
    if len(values) != len(pairs) or not all(type(value) is str for value in values.values()):
        return None
    return values


def _number(text: str) -> None:
    """Ignore a number, because the conversion of many digits takes quadratic time."""


_PLAIN_OBJECT: Final = JSONDecoder(object_pairs_hook=_plain, parse_int=_number, parse_float=_number)


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._lines = Lines(text, file)
        self.offset = 0
        self.skip()

    def skip(self) -> None:
        match = _BLANKS.match(self._text, self.offset)
        if match is not None:
            self.offset = match.end()

    def plain_object(self) -> tuple[dict[str, str], int] | None:
        """The object at ``offset`` and its end; None if a value is not text."""
        if self._text[self.offset] != "{":
            return None
        try:
            found, end = _PLAIN_OBJECT.raw_decode(self._text, self.offset)
        except (JSONDecodeError, RecursionError):
            return None
        return None if found is None else (found, end)

    def position(self) -> FilePosition:
        return self._lines.position(self.offset)

    def value(self, depth: int) -> Node:
        position, start = self.position(), self._text[self.offset : self.offset + 1]
        if depth > MAX_DEPTH:
            raise fault(position, f"nested more than {MAX_DEPTH} deep")
        if start == '"':
            return self._string()
        if start == "{":
            return Fields(list(self._pairs(depth)), position)
        if start == "[":
            return Items(list(self._items(depth)), position)
        word = _WORD.match(self._text, self.offset)
        if word is None:
            raise self._wrong("a value is missing")
        self.offset = word.end()
        return Text(None if word[0] == "null" else word[0], position)

    def _string(self) -> Text:
        position = self.position()
        try:
            value, self.offset = scanstring(self._text, self.offset + 1, True)
        except JSONDecodeError as error:
            self.offset = min(error.pos, len(self._text))
            raise self._wrong(error.msg[0].lower() + error.msg[1:].removesuffix(" at")) from None
        return Text(value, position)

    def _pairs(self, depth: int) -> Iterator[tuple[Text, Node]]:
        for _ in self._parts("}"):
            if self._text[self.offset : self.offset + 1] != '"':
                raise self._wrong('expected a key in "quotes"')
            key = self._string()
            self.skip()
            self._expect(":")
            yield key, self.value(depth + 1)

    def _items(self, depth: int) -> Iterator[Node]:
        for _ in self._parts("]"):
            yield self.value(depth + 1)

    def _parts(self, end: str) -> Iterator[None]:
        """Yield at the start of each part before ``end``."""
        self.offset += 1
        self.skip()
        if self._text[self.offset : self.offset + 1] == end:
            self.offset += 1
            return
        while True:
            yield
            self.skip()
            if self._text[self.offset : self.offset + 1] == end:
                self.offset += 1
                return
            self._expect(",", end)

    def _expect(self, mark: str, *others: str) -> None:
        if self._text[self.offset : self.offset + 1] != mark:
            raise self._wrong(f"expected {' or '.join(map(repr, (mark, *others)))}")
        self.offset += 1
        self.skip()

    def _wrong(self, problem: str) -> InvalidRequest:
        return fault(self.position(), f"this is not JSON: {problem}")

"""Reads Java's ``.properties`` files as ``java.util.Properties.load`` does.

This module must not know which keys exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_PLAIN_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


class Property(NamedTuple):
    key: str
    value: str
    line: int
    """The number of the property's first line, counted from 1, for error messages."""


def parse_properties(data: bytes) -> list[Property]:
    """The properties of a file in order, repeated keys included.

    Raises:
        ValueError: a ``\\u`` without four hex digits; the message names the line.
    """
    return [_property(line, text) for line, text in _logical_lines(data.decode("latin-1"))]


def properties_mapping(properties: Iterable[Property]) -> dict[str, str]:
    """Key to value. As in Java, the last value of a repeated key counts."""
    return {key: value for key, value, _ in properties}


def comma_separated(text: str) -> list[str]:
    """The items of a value of Kafka's type LIST, without empty items and surrounding blanks."""
    return list(filter(None, map(str.strip, text.split(","))))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Logical lines with properties; each has the number of its first line.

    A line can have only blanks and a backslash. After this line, Java skips blank lines and
    comments. At the end of a file, this line is an empty property, unless CR LF ends the line.
    """
    naturals = _LINE_END.split(text)
    if text.endswith(("\r", "\n")):
        naturals.pop()
    continued: list[str] = []
    first = 0
    for number, natural in enumerate(naturals, 1):
        line = natural.lstrip(_BLANKS)
        if not continued:
            if not line or line[0] in "#!":
                continue
            first = number
        if not _ends_in_open_backslash(line):
            yield first, "".join(continued) + line
            continued.clear()
        elif continued or len(line) > 1:
            continued.append(line[:-1])
        elif number == len(naturals) and not text.endswith("\r\n"):
            yield first, ""
    if continued:
        yield first, "".join(continued)


def _ends_in_open_backslash(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _property(line: int, text: str) -> Property:
    end = 0
    while end < len(text) and text[end] not in "=:" + _BLANKS:
        end += 2 if text[end] == "\\" else 1
    value = text[end:].lstrip(_BLANKS)
    if value[:1] in ("=", ":"):
        value = value[1:].lstrip(_BLANKS)
    return Property(_unescaped(text[:end], line), _unescaped(value, line), line)


def _unescaped(text: str, line: int) -> str:
    if "\\" not in text:
        return text
    parts: list[str] = []
    position = 0
    while (backslash := text.find("\\", position)) >= 0:
        parts.append(text[position:backslash])
        escaped = text[backslash + 1 : backslash + 2]
        position = backslash + 2
        if escaped == "u":
            digits = text[position : position + 4]
            if len(digits) < 4 or not _HEX_DIGITS.issuperset(digits):
                raise ValueError(f"line {line}: \\u is not followed by four hex digits")
            escaped = chr(int(digits, 16))
            position += 4
        parts.append(_PLAIN_ESCAPES.get(escaped, escaped))
    parts.append(text[position:])
    return _joined_surrogates("".join(parts))


def _joined_surrogates(text: str) -> str:
    """As in Java, an escaped surrogate pair is one character."""
    return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")

"""Nodes, the common form of YAML and JSON: texts, lists and mappings with positions.

Values stay texts, so topics can be called ``no`` or ``007``. An error is one line with the
position. This module must not know ACLs.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog.records.primitives.text import has_lone_surrogate
from metalog_sources.formats.document import FilePosition

MAX_DEPTH: Final = 32


class Text(NamedTuple):
    """A text with its position; ``value`` is None for a null."""

    value: str | None
    position: FilePosition


class Items(NamedTuple):
    items: Sequence[Node]
    position: FilePosition


class Fields(NamedTuple):
    pairs: Sequence[tuple[Text, Node]]
    position: FilePosition


Node = Text | Items | Fields


class Lines:
    """Converts offsets in ``text`` to line and column."""

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def position(self, offset: int) -> FilePosition:
        line = bisect_right(self._starts, offset)
        return FilePosition(self._file, line, offset - self._starts[line - 1] + 1)


def fault(position: FilePosition | None, problem: str) -> InvalidRequest:
    return InvalidRequest(problem if position is None else f"{position}: {problem}")


def near(word: str, known: Collection[str]) -> str:
    """What an error about ``word`` ends with: similar words of ``known``, or all of them."""
    folded, wanted = {known_word.casefold(): known_word for known_word in known}, word.casefold()
    matches = [each for each in folded if wanted and each.startswith(wanted)]
    found = [folded[each] for each in matches or get_close_matches(wanted, folded, 1, 0.6)]
    if found:
        return f"did you mean {' or '.join(found)}?"
    return f"{'use one of' if len(known) > 1 else 'use'} {', '.join(known)}"


def text_of(node: Node, what: str) -> str:
    if isinstance(node, Text) and node.value is not None:
        if has_lone_surrogate(node.value):
            raise fault(
                node.position, f"{what} has half a surrogate pair, which is not a character"
            )
        return node.value
    kind = "empty" if isinstance(node, Text) else "not text"
    raise fault(node.position, f"{what} is {kind}; write a text")


def texts_of(node: Node, what: str) -> Iterator[Text]:
    """One text, or the texts of a list; each ``value`` is a str."""
    if not isinstance(node, Items):
        yield Text(text_of(node, what), node.position)
        return
    if not node.items:
        raise fault(node.position, f"{what} is an empty list; name at least one")
    for item in node.items:
        yield Text(text_of(item, what), item.position)


def items_of(node: Node, what: str) -> Sequence[Node]:
    if isinstance(node, Items):
        return node.items
    if isinstance(node, Text) and node.value is None:
        return ()
    raise fault(node.position, f"{what} is not a list; write each item with a dash, or in [ ]")


def fields_of(node: Node, what: str, known: Collection[str] | None) -> dict[str, Node]:
    """A mapping's values by key. A repeated key and a key outside ``known`` are errors."""
    if not isinstance(node, Fields):
        examples = f", such as {', '.join(known)}" if known else ""
        raise fault(node.position, f"{what} must be a mapping; write keys and values{examples}")
    values: dict[str, Node] = {}
    for key, value in node.pairs:
        name = text_of(key, "a key")
        if known is not None and name not in known:
            raise fault(key.position, f"unknown key {name!r} in {what}; {near(name, known)}")
        if name in values:
            raise fault(key.position, f"the key {name!r} is repeated in {what}")
        values[name] = value
    return values

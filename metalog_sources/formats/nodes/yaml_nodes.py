"""Reads YAML text into nodes from PyYAML's events.

Every scalar is text, or None for a null. A text may have the tag ``!`` or ``!!str``, and a
list may have a tag that the caller allows. This module must not know what the nodes mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from metalog.errors import InvalidRequest
from metalog_sources.formats.document import FilePosition
from metalog_sources.formats.nodes.nodes import MAX_DEPTH, Fields, Items, Node, Text, fault

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
NO_TAGS: Final[Mapping[str, str]] = {}
_PLAIN_TAGS: Final = frozenset({None, "!", "tag:yaml.org,2002:str"})


def yaml_documents(text: str, file: str, tags: Mapping[str, str] = NO_TAGS) -> Iterator[Node]:
    """The documents in ``text``; ``InvalidRequest`` if nodes cannot represent ``text``.

    ``tags`` maps a tag to a word. A list with the tag becomes a mapping from the word to the list.
    """
    builder = _Builder(file, tags)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            done = builder.take(event)
            if done is not None:
                yield done
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = () if mark is None else (mark.line + 1, mark.column + 1)
        is_tab = mark is not None and text[mark.index : mark.index + 1] == "\t"
        problem = "a tab; indent with spaces" if is_tab else str(error.problem or error.context)
        raise fault(FilePosition(file, *place), f"not YAML: {' '.join(problem.split())}") from None
    except yaml.YAMLError as error:
        problem = getattr(error, "reason", None) or " ".join(str(error).split())
        raise InvalidRequest(f"{file}: not YAML: {problem}") from None


class _Builder:
    def __init__(self, file: str, tags: Mapping[str, str]) -> None:
        self._file = file
        self._tags = tags
        self._open: list[tuple[list[Node], FilePosition, bool, str | None, str | None]] = []
        self._anchors: dict[str, Node] = {}
        self._root: Node | None = None

    def take(self, event: Any) -> Node | None:
        position = FilePosition(self._file, event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.ScalarEvent):
            self._add(self._scalar(event, position), event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise fault(position, f"the alias *{event.anchor} has no anchor before it")
            self._add(self._anchors[event.anchor], None)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin(event, position)
        elif isinstance(event, yaml.CollectionEndEvent):
            nodes, start, is_mapping, anchor, word = self._open.pop()
            node = _mapping(nodes, start) if is_mapping else Items(nodes, start)
            if word is not None:
                node = Fields([(Text(word, start), node)], start)
            self._add(node, anchor)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._root = None
            self._anchors = {}
        elif isinstance(event, yaml.DocumentEndEvent):
            return self._root
        return None

    def _begin(self, event: Any, position: FilePosition) -> None:
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        word = None if is_mapping or event.tag is None else self._tags.get(event.tag)
        if event.tag is not None and word is None:
            raise fault(position, f"the tag {event.tag} is not supported; leave it out")
        if len(self._open) >= MAX_DEPTH:
            raise fault(position, f"nested more than {MAX_DEPTH} deep")
        self._open.append(([], position, is_mapping, event.anchor, word))

    def _scalar(self, event: Any, position: FilePosition) -> Text:
        if event.tag not in _PLAIN_TAGS:
            raise fault(position, f"the tag {event.tag} is not supported; leave it out")
        is_null = event.tag is None and event.implicit[0] and event.value in _NULLS
        return Text(None if is_null else event.value, position)

    def _add(self, node: Node, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        if self._open:
            self._open[-1][0].append(node)
        else:
            self._root = node


def _mapping(nodes: list[Node], position: FilePosition) -> Fields:
    pairs = []
    for key, value in zip(nodes[::2], nodes[1::2], strict=True):
        if not isinstance(key, Text):
            raise fault(key.position, "a key is not text")
        pairs.append((key, value))
    return Fields(pairs, position)

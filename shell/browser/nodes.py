"""The nodes of the metadata shell's tree: directories and leaves, computed on access.

The names in nodes are unescaped; ``names.written`` escapes a name. This module must not know what
the metadata is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from json import JSONEncoder
from typing import Final, NamedTuple, TypeVar

from metalog.acl import java_order

Entry = TypeVar("Entry")

_compact_json: Final = JSONEncoder(ensure_ascii=False).encode
_indented_json: Final = JSONEncoder(ensure_ascii=False, indent=2).encode


class Leaf(NamedTuple):
    """A file: one line of text in Kafka's form, or an object shown as JSON.

    ``summary`` is the line for places where JSON is hard to read.
    """

    content: str | Mapping[str, object]
    summary: str | None = None

    def line(self) -> str:
        if self.summary is not None:
            return self.summary
        return self.content if isinstance(self.content, str) else _compact_json(self.content)

    def pretty(self) -> list[str]:
        if isinstance(self.content, str):
            return [self.content]
        return _indented_json(self.content).split("\n")


class Directory:
    """Children by name. ``names`` are in Java's sort order, as in Kafka's shell."""

    def __init__(
        self, names: Callable[[], Iterable[str]], child: Callable[[str], Node | None]
    ) -> None:
        self._names = names
        self.child = child

    @cached_property
    def names(self) -> list[str]:
        return sorted(self._names(), key=java_order)


Node = Leaf | Directory


def fixed(children: Mapping[str, Callable[[], Node]]) -> Directory:
    """A directory with these children. Each child is created at its first visit."""
    makers = {name: cache(make) for name, make in children.items()}
    return Directory(lambda: makers, lambda name: makers[name]() if name in makers else None)


def listing(entries: Callable[[], Mapping[str, Entry]], node: Callable[[Entry], Node]) -> Directory:
    """A directory with a child for each name in ``entries()``."""
    cached_entries = cache(entries)

    def child(name: str) -> Node | None:
        return node(cached_entries()[name]) if name in cached_entries() else None

    return Directory(lambda: cached_entries(), child)

"""Tables of verbs: ``metalog``'s own, and that of a verb which has verbs of its own.

A table is static, and a verb's module is imported when it is run. A module with a table
``TABLE`` has its verbs there; any other has ``configure`` and ``run``. This module must not
know what any verb does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from types import ModuleType


class Verb(NamedTuple):
    """A line of a table's help, and the module of that verb."""

    group: str
    line: str
    module: str

    def load(self) -> ModuleType:
        from importlib import import_module

        return import_module(self.module)


class VerbTable(NamedTuple):
    """``prefix`` is what stands before a verb; ``opening`` and ``closing`` frame the help."""

    prefix: str
    verbs: Mapping[str, Verb]
    opening: str
    closing: str

    def overview(self) -> str:
        """What ``--help`` without a verb prints."""
        groups: dict[str, list[str]] = {}
        name_width = max(map(len, self.verbs), default=0) + 2
        for name, verb in self.verbs.items():
            groups.setdefault(verb.group, []).append(f"{name:<{name_width}}{verb.line}")
        width = max(map(len, groups), default=0) + 2
        lines = [
            f"{group if number == 0 else '':<{width}}{entry}\n"
            for group, entries in groups.items()
            for number, entry in enumerate(entries)
        ]
        return f"{self.opening}\n{''.join(lines)}\n{self.closing}"

    def commands(self) -> Iterator[tuple[str, Verb, ModuleType]]:
        """Every verb that can be run, by all of its words: ``acls``, ``pipeline build``."""
        for name, verb in self.verbs.items():
            module = verb.load()
            table = table_of(module)
            if table is None:
                yield self.prefix + name, verb, module
            else:
                yield from table.commands()


def table_of(module: ModuleType) -> VerbTable | None:
    """The table of a verb that has verbs of its own."""
    table: VerbTable | None = getattr(module, "TABLE", None)
    return table

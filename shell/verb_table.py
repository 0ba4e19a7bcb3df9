"""Tables of verbs: ``metalog``'s own, and that of a verb which has verbs of its own.

A table is static, and a verb's module is imported when it is run. A module with a table
``TABLE`` has its verbs there; any other is a ``VerbModule``. This module must not know what
any verb does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast, runtime_checkable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from shell.output.output import Output


@runtime_checkable
class VerbModule(Protocol):
    """What the module of a verb has.

    ``USAGE`` and ``EPILOG`` are parts of its help, ``FORMATS`` the values of ``-o`` with the
    default first, and ``PAGED`` says whether a long text goes through ``$PAGER``.
    """

    USAGE: str
    FORMATS: tuple[str, ...]
    PAGED: bool
    EPILOG: str

    def configure(self, parser: ArgumentParser) -> None:
        """Add the verb's own arguments."""
        ...

    def run(self, arguments: Namespace, output: Output) -> int:
        """Carry the verb out; returns the exit code of ``metalog``."""
        ...


class Verb(NamedTuple):
    """A line of a table's help, and the module of that verb."""

    group: str
    line: str
    module: str

    def load(self) -> VerbModule | VerbTable:
        """Import the module: the verb, or the table of its own verbs."""
        from importlib import import_module

        module = import_module(self.module)
        table: VerbTable | None = getattr(module, "TABLE", None)
        return cast("VerbModule", module) if table is None else table

    def load_verb(self) -> VerbModule:
        """Import the module of a verb that has no verbs of its own."""
        loaded = self.load()
        if isinstance(loaded, VerbTable):
            raise TypeError(f"{self.module} is a table of verbs")
        return loaded


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

    def commands(self) -> Iterator[tuple[str, Verb, VerbModule]]:
        """Every verb that can be run, by all of its words: ``acls``, ``pipeline build``."""
        for name, verb in self.verbs.items():
            loaded = verb.load()
            if isinstance(loaded, VerbTable):
                yield from loaded.commands()
            else:
                yield self.prefix + name, verb, loaded

"""Tables of verbs: one for ``metalog``, and one for each verb that has inner verbs.

The module of a verb with inner verbs has the table ``TABLE``; every other verb's module is a
``VerbModule``. This module must not know what any verb does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast, runtime_checkable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from shell.output.output import Output


@runtime_checkable
class VerbModule(Protocol):
    """The module of a verb.

    ``USAGE`` and ``EPILOG`` are parts of the help. ``FORMATS`` are the values of ``-o``, the
    default first. ``PAGED``: a long text goes through ``$PAGER``.
    """

    USAGE: str
    FORMATS: tuple[str, ...]
    PAGED: bool
    EPILOG: str

    def configure(self, parser: ArgumentParser) -> None:
        """Add the verb's own arguments."""

    def run(self, arguments: Namespace, output: Output) -> int:
        """Returns the exit code."""


class Verb(NamedTuple):
    """A verb's group and line in the help, and its module's name."""

    group: str
    line: str
    module: str

    def load(self) -> VerbModule | VerbTable:
        from importlib import import_module

        module = import_module(self.module)
        table: VerbTable | None = getattr(module, "TABLE", None)
        return cast("VerbModule", module) if table is None else table

    def load_verb(self) -> VerbModule:
        """``load`` for a verb without inner verbs."""
        loaded = self.load()
        if isinstance(loaded, VerbTable):
            raise TypeError(f"{self.module} is a table of verbs")
        return loaded


def verbs_of(groups: Mapping[tuple[str, str], Mapping[str, str]]) -> dict[str, Verb]:
    """``groups`` maps each group's title and package to its verbs, each with a line of help."""
    return {
        name: Verb(group, line, f"{package}.{name.replace('-', '_')}")
        for (group, package), lines in groups.items()
        for name, line in lines.items()
    }


class VerbTable(NamedTuple):
    """``prefix`` has the words before a verb; ``opening`` and ``closing`` frame the help."""

    prefix: str
    verbs: Mapping[str, Verb]
    opening: str
    closing: str

    def overview(self) -> str:
        """The help that ``--help`` prints without a verb."""
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
        """Every verb without inner verbs, with all words of its name (``pipeline build``)."""
        for name, verb in self.verbs.items():
            loaded = verb.load()
            if isinstance(loaded, VerbTable):
                yield from loaded.commands()
            else:
                yield self.prefix + name, verb, loaded

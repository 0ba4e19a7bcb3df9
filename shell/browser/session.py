"""One session of the metadata shell: the current directory, and the execution of a line.

A ``Builtin`` is a command; the table of them is handed in. This module must not know
any one command, or how lines are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from metalog.errors import InvalidRequest, MetalogError
from metalog.visible_text import safe
from shell.browser import globs
from shell.browser.nodes import Directory
from shell.browser.paths import Path, PathMatch, expand, path_text
from shell.browser.quoting import split
from shell.output.output import Output

UNBOUNDED: Final = 1 << 30


class Builtin(NamedTuple):
    """A command. ``manual`` is what ``man`` adds to the summary, line by line.

    ``least`` and ``most`` bound the number of words that ``run`` gets, as globs; ``takes``
    says what they are, as far as they can be completed: paths, or what the function gives for
    the words so far, the last of which is being typed.
    """

    name: str
    synopsis: str
    summary: str
    manual: Sequence[str]
    run: Callable[[ShellSession, Sequence[str]], None]
    least: int = 0
    most: int = UNBOUNDED
    takes: (
        Literal["paths", "a command", "nothing known"]
        | Callable[[ShellSession, Sequence[str]], Iterable[str]]
    ) = "paths"


class ShellSession:
    """What the commands share. ``width`` is the terminal's, or None where there is none.
    ``refresh`` gives the root as it is now, where that changes.

    ``failed`` once any command has complained; ``leaving`` once ``exit`` was typed.
    """

    def __init__(
        self,
        root: Directory,
        commands: Mapping[str, Builtin],
        output: Output,
        width: int | None = None,
        *,
        refresh: Callable[[], Directory] | None = None,
    ) -> None:
        self._refresh = refresh
        self.root = root
        self.commands = commands
        self.output = output
        self.width = width
        self.working: Path = ()
        self.typed: list[str] = []
        self.failed = False
        self.leaving = False

    @property
    def place(self) -> str:
        return path_text(self.working)

    def say(self, text: str) -> None:
        """One line of an answer."""
        self.output.line(safe(text))

    def complain(self, text: str) -> None:
        """One line of error; the next command goes on."""
        self.failed = True
        self.output.flush()
        self.output.err.write(safe(text) + "\n")
        self.output.flush()

    def expand(self, glob: str, command: str) -> Iterator[PathMatch]:
        """The nodes that ``glob`` means; where there are none, ``command`` complains."""
        found = expand(self.root, self.working, glob)
        first = next(found, None)
        if first is None:
            self.complain(f"{command}: {glob}: no such file or directory")
        else:
            yield first
            yield from found

    def run_line(self, line: str) -> None:
        """Carry out a line as typed; an empty one does nothing."""
        if not line.strip():
            return
        self.typed.append(line.strip())
        try:
            words = split(line)
        except InvalidRequest as problem:
            self.complain(str(problem))
            return
        self.run_words(words)

    def run_words(self, words: Sequence[str]) -> None:
        """Carry out a command whose words are globs."""
        name, *rest = words
        command = self.command(name)
        if command is None:
            return
        self._look_again()
        if command.least <= len(rest) <= command.most:
            command.run(self, rest)
        else:
            self.complain(f"usage: {command.synopsis}")

    def _look_again(self) -> None:
        """Where that fails, it is said, and the tree stays what it was."""
        if self._refresh is not None:
            try:
                self.root = self._refresh()
            except MetalogError as problem:
                self.complain(f"not up to date: {problem}")

    def command(self, name: str) -> Builtin | None:
        """The command called ``name``; where there is none, the shell complains."""
        command = self.commands.get(globs.unescaped(name))
        if command is None:
            from authorizer.analysis.explain.names import nearest_name

            near = nearest_name(name, self.commands)
            hint = f"did you mean {near}?" if near else "help lists the commands"
            self.complain(f"{name}: no such command; {hint}")
        return command

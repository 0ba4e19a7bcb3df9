"""A session of the metadata shell: it keeps the current directory and runs lines.

This module must not know any one command, or how lines are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from metalog.errors import InvalidRequest, MetalogError
from metalog.text.visible_text import safe
from shell.browser import globs
from shell.browser.nodes import Directory
from shell.browser.paths import Path, PathMatch, expand, path_text
from shell.browser.quoting import split
from shell.output.output import Output

UNBOUNDED: Final = 1 << 30


class Builtin(NamedTuple):
    """A command.

    ``man`` prints the summary and ``manual``. ``run`` gets ``least`` to ``most`` words, as globs.
    ``takes`` says what completes a word; a function returns candidates for the last typed word.
    """

    synopsis: str
    summary: str
    run: Callable[[ShellSession, Sequence[str]], None]
    manual: Sequence[str] = ()
    least: int = 0
    most: int = UNBOUNDED
    takes: (
        Literal["paths", "a command", "nothing"]
        | Callable[[ShellSession, Sequence[str]], Iterable[str]]
    ) = "paths"

    @property
    def name(self) -> str:
        return self.synopsis.partition(" ")[0]


def builtin(
    synopsis: str, summary: str, **options: Any
) -> Callable[[Callable[[ShellSession, Sequence[str]], None]], Builtin]:
    """A decorator that makes a function a ``Builtin``, with ``options`` as other fields."""
    return lambda run: Builtin(synopsis, summary, run, **options)


class ShellSession:
    """The state that commands share.

    ``refresh`` returns the newest root. ``width`` is the terminal's width at a prompt, else None.
    ``failed``: an error was reported. ``leaving``: ``exit`` was typed.
    """

    def __init__(
        self,
        root: Directory,
        commands: Mapping[str, Builtin],
        output: Output,
        *,
        refresh: Callable[[], Directory] | None = None,
    ) -> None:
        self._refresh = refresh
        self.root = root
        self.commands = commands
        self.output = output
        self.width: int | None = None
        self.working: Path = ()
        self.typed: list[str] = []
        self.failed = False
        self.leaving = False

    @property
    def place(self) -> str:
        return path_text(self.working)

    def say(self, text: str) -> None:
        self.output.line(safe(text))

    def complain(self, text: str) -> None:
        self.failed = True
        self.output.flush()
        self.output.err.write(safe(text) + "\n")
        self.output.flush()

    def expand(self, glob: str, command: str) -> Iterator[PathMatch]:
        """The nodes that match ``glob``. If there are none, print an error of ``command``."""
        matches = expand(self.root, self.working, glob)
        first = next(matches, None)
        if first is None:
            self.complain(f"{command}: {glob}: no such file or directory")
        else:
            yield first
            yield from matches

    def run_line(self, line: str) -> None:
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
        name, *rest = words
        command = self.command(name)
        if command is None:
            return
        self._refresh_root()
        if command.least <= len(rest) <= command.most:
            command.run(self, rest)
        else:
            self.complain(f"usage: {command.synopsis}")

    def _refresh_root(self) -> None:
        if self._refresh is not None:
            try:
                self.root = self._refresh()
            except MetalogError as problem:
                self.complain(f"not up to date: {problem}")

    def command(self, name: str) -> Builtin | None:
        """The command, or None after an error message."""
        command = self.commands.get(globs.unescaped(name))
        if command is None:
            from authorizer.analysis.explain.names import nearest_name

            near = nearest_name(name, self.commands)
            hint = f"did you mean {near}?" if near else "help lists the commands"
            self.complain(f"{name}: no such command; {hint}")
        return command

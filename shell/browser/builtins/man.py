"""``man``: the full description of one command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shell.browser.session import Builtin, ShellSession

_ON_PATHS: Final = (
    "PATH may contain * (any characters), ? (any one) and {a,b} (either); quotes or a backslash",
    "make them plain characters: 'User:*'. In a name, %2F stands for a slash, and other characters",
    "that would break a path or a terminal are written as percent codes too.",
)


def _run(session: ShellSession, words: Sequence[str]) -> None:
    command = session.command(words[0])
    if command is None:
        return
    session.say(f"{command.synopsis}: {command.summary}")
    for line in (*command.manual, *(_ON_PATHS if command.takes == "paths" else ())):
        session.say(line)


MAN = Builtin(
    name="man",
    synopsis="man COMMAND",
    summary="show the manual of a command",
    run=_run,
    least=1,
    most=1,
    takes="a command",
)

"""The commands about the session: ``cd``, ``exit``, ``help``, ``history``, ``man``, ``pwd``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from metalog.text.whole_numbers import whole_number
from shell.browser.nodes import Directory
from shell.browser.session import ShellSession, builtin

_ON_PATHS: Final = (
    "PATH may contain * (any characters), ? (one character), {a,b} (a or b); quotes or a backslash",
    "make them plain characters: 'User:*'. In a name, %2F stands for a slash, and other characters",
    "that would break a path or a terminal are written as percent codes too.",
)


@builtin("cd [PATH]", "change the current directory (default: the root)", most=1)
def _cd(session: ShellSession, words: Sequence[str]) -> None:
    [glob] = words or ["/"]
    matches = list(session.expand(glob, "cd"))
    if len(matches) > 1:
        session.complain(f"cd: {glob}: matches {len(matches)} paths; name one")
    elif matches and not isinstance(matches[0].node, Directory):
        session.complain(f"cd: {glob}: not a directory")
    elif matches:
        session.working = matches[0].path


@builtin("exit", "leave the shell, as Ctrl-D does", most=0, takes="nothing")
def _exit(session: ShellSession, words: Sequence[str]) -> None:
    session.leaving = True


@builtin("help", "list the commands", most=0, takes="nothing")
def _help(session: ShellSession, words: Sequence[str]) -> None:
    width = max(len(command.synopsis) for command in session.commands.values())
    for command in session.commands.values():
        session.say(f"{command.synopsis:{width}}  {command.summary}")


@builtin(
    "history [COUNT]",
    "list the lines typed so far, or the last COUNT of them",
    manual=("The history is kept until you leave the shell, and is not written to a file.",),
    most=1,
    takes="nothing",
)
def _history(session: ShellSession, words: Sequence[str]) -> None:
    count = len(session.typed)
    wanted = whole_number(words[0]) if words else count
    if wanted is None:
        session.complain(f"history: {words[0]}: not a number of lines")
        return
    first = max(0, count - wanted)
    for number in range(first, count):
        session.say(f"{number:5}  {session.typed[number]}")


@builtin("man COMMAND", "show the manual of a command", least=1, most=1, takes="a command")
def _man(session: ShellSession, words: Sequence[str]) -> None:
    command = session.command(words[0])
    if command is None:
        return
    session.say(f"{command.synopsis}: {command.summary}")
    for line in (*command.manual, *(_ON_PATHS if command.takes == "paths" else ())):
        session.say(line)


@builtin("pwd", "print the path of the current directory", most=0, takes="nothing")
def _pwd(session: ShellSession, words: Sequence[str]) -> None:
    session.say(session.place)


COMMANDS = (_cd, _exit, _help, _history, _man, _pwd)

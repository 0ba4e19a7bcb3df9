"""The metadata shell: a replayed log as a tree of files, at a prompt or one command at a time.

This module must not know what the tree contains, or how a log is read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from shell.arguments.line_source import at_a_terminal, run_lines

if TYPE_CHECKING:
    from metalog_sources.replay import Replayed
    from shell.browser.nodes import Directory
    from shell.browser.session import Builtin
    from shell.output.output import Output


def run(
    replayed: Replayed,
    arguments: Sequence[str],
    output: Output,
    *,
    show_secrets: bool = False,
    live: Callable[[], Replayed] | None = None,
    more: Sequence[Builtin] = (),
) -> int:
    """Run the command in ``arguments``. Without arguments, run the lines of standard input, at a
    terminal with a prompt.

    ``live`` returns the newest state, and is called before each command. ``more`` are commands that
    need more than the tree. Returns the exit code: 2 if a command failed without a prompt, else 0.
    """
    from shell.browser.builtins import BUILTINS
    from shell.browser.session import ShellSession
    from shell.browser.tree.root import root_directory

    def newest_root() -> Directory:
        newest = replayed if live is None else live()
        return root_directory(newest.image, show_secrets=show_secrets)

    root = root_directory(replayed.image, show_secrets=show_secrets)
    commands = dict(sorted((BUILTINS | {command.name: command for command in more}).items()))
    session = ShellSession(root, commands, output, refresh=None if live is None else newest_root)
    if arguments:
        session.run_words(arguments)
    elif at_a_terminal():
        from shell.browser.completion import complete
        from shell.browser.prompt import converse

        extent = f"up to offset {replayed.offset}" if live is None else "at its newest state"
        place = f"{replayed.source.describe} {extent}"
        output.note(f"{place}; help lists the commands")
        converse(session, partial(complete, session), prompt_marker(replayed))
        return 0
    else:
        run_lines(session, sys.stdin)
    return 2 if session.failed else 0


def prompt_marker(replayed: Replayed) -> str:
    """The prompt's warnings about the state; empty without warnings."""
    marks = []
    if replayed.offset > replayed.proven.offset:
        marks.append("uncommitted")
    if not replayed.ready:
        marks.append("stale")
    return f" ({', '.join(marks)})" if marks else ""

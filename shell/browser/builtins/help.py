"""``help``: list the commands, one per line."""

from __future__ import annotations

from collections.abc import Sequence

from shell.browser.session import Builtin, ShellSession


def _run(session: ShellSession, words: Sequence[str]) -> None:
    width = max(len(command.synopsis) for command in session.commands.values())
    for command in session.commands.values():
        session.say(f"{command.synopsis:{width}}  {command.summary}")


HELP = Builtin(
    name="help", synopsis="help", summary="list the commands", run=_run, most=0, takes="nothing"
)

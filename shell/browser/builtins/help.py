"""``help``: list the commands, one per line."""

from __future__ import annotations

from collections.abc import Sequence

from shell.browser.session import Builtin, ShellSession


def _run(session: ShellSession, words: Sequence[str]) -> None:
    width = max(len(each.synopsis) for each in session.commands.values())
    for each in session.commands.values():
        session.say(f"{each.synopsis:{width}}  {each.summary}")


HELP = Builtin(
    name="help",
    synopsis="help",
    summary="list the commands",
    manual=(),
    run=_run,
    most=0,
    takes="nothing known",
)

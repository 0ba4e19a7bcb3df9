"""``pwd``: print the current directory."""

from __future__ import annotations

from collections.abc import Sequence

from shell.browser.session import Builtin, ShellSession


def _run(session: ShellSession, words: Sequence[str]) -> None:
    session.say(session.place)


PWD = Builtin(
    name="pwd",
    synopsis="pwd",
    summary="print the path of the current directory",
    run=_run,
    most=0,
    takes="nothing",
)

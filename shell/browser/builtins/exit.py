"""``exit``: leave the shell."""

from __future__ import annotations

from collections.abc import Sequence

from shell.browser.session import Builtin, ShellSession


def _run(session: ShellSession, words: Sequence[str]) -> None:
    session.leaving = True


EXIT = Builtin(
    name="exit",
    synopsis="exit",
    summary="leave the shell, as Ctrl-D does",
    run=_run,
    most=0,
    takes="nothing",
)

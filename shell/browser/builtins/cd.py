"""``cd``: change the current directory."""

from __future__ import annotations

from collections.abc import Sequence

from shell.browser.nodes import Directory
from shell.browser.session import Builtin, ShellSession


def _run(session: ShellSession, words: Sequence[str]) -> None:
    [glob] = words or ["/"]
    matches = list(session.expand(glob, "cd"))
    if len(matches) > 1:
        session.complain(f"cd: {glob}: matches {len(matches)} paths; name one")
    elif matches and not isinstance(matches[0].node, Directory):
        session.complain(f"cd: {glob}: not a directory")
    elif matches:
        session.working = matches[0].path


CD = Builtin(
    name="cd",
    synopsis="cd [PATH]",
    summary="change the current directory; without PATH to the root",
    run=_run,
    most=1,
)

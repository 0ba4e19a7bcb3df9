"""``find``: print every path below a directory, in Kafka's order and form."""

from __future__ import annotations

from collections.abc import Sequence

from shell.browser import globs, names
from shell.browser.nodes import Directory, Node
from shell.browser.paths import path_text
from shell.browser.session import Builtin, ShellSession


def _run(session: ShellSession, words: Sequence[str]) -> None:
    for glob in words or ["."]:
        many = any(map(globs.pattern, glob.split("/")))
        for path, node in session.expand(glob, "find"):
            _print_below(session, path_text(path) if many else globs.unescaped(glob), node)


def _print_below(session: ShellSession, path: str, node: Node) -> None:
    session.say(path)
    if not isinstance(node, Directory):
        return
    before = path.rstrip("/")
    for name in node.names:
        child = node.child(name)
        if child is not None:
            _print_below(session, f"{before}/{names.written(name)}", child)


FIND = Builtin(
    name="find",
    synopsis="find [PATH...]",
    summary="list all paths below PATH, or below the current directory",
    run=_run,
)

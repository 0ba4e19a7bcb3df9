"""``cat``: print the contents of files, one after another."""

from __future__ import annotations

from collections.abc import Sequence

from shell.browser.nodes import Directory
from shell.browser.paths import path_text
from shell.browser.session import Builtin, ShellSession


def _run(session: ShellSession, words: Sequence[str]) -> None:
    for glob in words:
        for path, node in session.expand(glob, "cat"):
            if isinstance(node, Directory):
                session.complain(f"cat: {path_text(path)}: is a directory")
                continue
            for line in node.pretty():
                session.say(line)


CAT = Builtin(
    name="cat",
    synopsis="cat PATH...",
    summary="show the contents of files",
    manual=(
        "Files under /acl and /scram are JSON; those under /image and /local are in the form",
        "of Kafka's metadata shell. Salts, keys and passwords are [redacted] unless the shell",
        "was started with --show-secrets.",
    ),
    run=_run,
    least=1,
)

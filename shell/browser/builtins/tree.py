"""``tree``: print directories, indented, and one line for each file."""

from __future__ import annotations

from collections.abc import Sequence

from shell.browser import names
from shell.browser.nodes import Directory, Node
from shell.browser.session import Builtin, ShellSession

_DEPTH_OPTION = "-L"
_NO_LIMIT = 1 << 30
_MOST_DIGITS = 9


def _run(session: ShellSession, words: Sequence[str]) -> None:
    depth = _NO_LIMIT
    globs = list(words)
    if _DEPTH_OPTION in globs:
        at = globs.index(_DEPTH_OPTION)
        text = "".join(globs[at + 1 : at + 2])
        if not text.isdecimal() or len(text) > _MOST_DIGITS or int(text) == 0:
            session.complain(f"tree: {_DEPTH_OPTION} needs a number of levels, 1 or more")
            return
        depth = int(text)
        del globs[at : at + 2]
    for glob in globs or ["."]:
        for match in session.expand(glob, "tree"):
            _print_below(session, match.node, "", depth)


def _print_below(session: ShellSession, node: Node, indent: str, depth: int) -> None:
    if not isinstance(node, Directory):
        session.say(indent + node.line())
        return
    if depth == 0:
        session.say(f"{indent}({len(node.names)} more)")
        return
    for name in node.names:
        child = node.child(name)
        if child is not None:
            session.say(f"{indent}{names.written(name)}:")
            _print_below(session, child, indent + "  ", depth - 1)


TREE = Builtin(
    name="tree",
    synopsis="tree [-L DEPTH] [PATH...]",
    summary="show directories and the contents of their files as a tree",
    manual=(
        "With -L, the tree has DEPTH levels, and counts the names in each directory below them.",
        "Each file is one line: an ACL is a sentence here, and cat prints its JSON.",
    ),
    run=_run,
)

"""The commands that print a part of the tree: ``cat``, ``find``, ``ls``, ``tree``."""

from __future__ import annotations

from collections.abc import Sequence

from shell.browser import globs, names
from shell.browser.nodes import Directory, Node
from shell.browser.paths import path_text
from shell.browser.session import ShellSession, builtin
from shell.output.wrapping import text_width

_GAP = 2
_DEPTH_OPTION = "-L"
_NO_LIMIT = 1 << 30
_MOST_DIGITS = 9


@builtin(
    "cat PATH...",
    "show the contents of files",
    manual=(
        "Files under /acl and /scram are JSON; those under /image and /local are in the form",
        "of Kafka's metadata shell. Salts, keys and passwords are [redacted] unless the shell",
        "was started with --show-secrets.",
    ),
    least=1,
)
def _cat(session: ShellSession, words: Sequence[str]) -> None:
    for glob in words:
        for path, node in session.expand(glob, "cat"):
            if isinstance(node, Directory):
                session.complain(f"cat: {path_text(path)}: is a directory")
                continue
            for line in node.pretty():
                session.say(line)


@builtin("find [PATH...]", "list all paths below PATH, or below the current directory")
def _find(session: ShellSession, words: Sequence[str]) -> None:
    for glob in words or ["."]:
        is_glob = any(map(globs.pattern, glob.split("/")))
        for path, node in session.expand(glob, "find"):
            _print_paths(session, path_text(path) if is_glob else globs.unescaped(glob), node)


def _print_paths(session: ShellSession, path: str, node: Node) -> None:
    session.say(path)
    if not isinstance(node, Directory):
        return
    before = path.rstrip("/")
    for name in node.names:
        child = node.child(name)
        if child is not None:
            _print_paths(session, f"{before}/{names.written(name)}", child)


@builtin("ls [PATH...]", "list directories (default: the current one)")
def _ls(session: ShellSession, words: Sequence[str]) -> None:
    matches = [match for glob in words or ["."] for match in session.expand(glob, "ls")]
    files = [match.label for match in matches if not isinstance(match.node, Directory)]
    directories = [
        (match.label, match.node) for match in matches if isinstance(match.node, Directory)
    ]
    _print_names(session, files)
    headed = len(matches) > 1
    for number, (label, directory) in enumerate(directories):
        if headed:
            session.output.line(f"\n{label}:" if number or files else f"{label}:")
        _print_names(session, [names.written(name) for name in directory.names])


def _print_names(session: ShellSession, shown: list[str]) -> None:
    if session.width is None:
        for name in shown:
            session.say(name)
    else:
        for line in in_columns(shown, session.width):
            session.say(line)


def in_columns(shown: list[str], width: int) -> list[str]:
    """``shown`` in as many columns as fit into ``width``, filled column by column."""
    if not shown:
        return []
    sizes = [text_width(name) + _GAP for name in shown]
    for columns in range(min(len(shown), max(1, width // (min(sizes)))), 0, -1):
        height = -(-len(shown) // columns)
        widths = [max(sizes[at : at + height]) for at in range(0, len(shown), height)]
        if sum(widths) - _GAP <= width or columns == 1:
            break
    return [
        "".join(
            shown[at] + " " * (widths[at // height] - sizes[at] + _GAP)
            for at in range(line, len(shown), height)
        ).rstrip()
        for line in range(height)
    ]


@builtin(
    "tree [-L DEPTH] [PATH...]",
    "show directories and the contents of their files as a tree",
    manual=(
        "With -L, the tree has DEPTH levels, and says how many names are below the last level.",
        "Each file is one line: an ACL is a sentence in the tree, and cat prints its JSON.",
    ),
)
def _tree(session: ShellSession, words: Sequence[str]) -> None:
    depth = _NO_LIMIT
    paths = list(words)
    if _DEPTH_OPTION in paths:
        at = paths.index(_DEPTH_OPTION)
        text = "".join(paths[at + 1 : at + 2])
        if not text.isdecimal() or len(text) > _MOST_DIGITS or int(text) == 0:
            session.complain(f"tree: {_DEPTH_OPTION} needs a number of levels, 1 or more")
            return
        depth = int(text)
        del paths[at : at + 2]
    for glob in paths or ["."]:
        for match in session.expand(glob, "tree"):
            _print_tree(session, match.node, "", depth)


def _print_tree(session: ShellSession, node: Node, indent: str, depth: int) -> None:
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
            _print_tree(session, child, indent + "  ", depth - 1)


COMMANDS = (_cat, _find, _ls, _tree)

"""Resolves paths to nodes: absolute and relative paths, ``.`` and ``..``, globs.

As in Kafka's shell, ``.`` and ``..`` are resolved in the text, before globs. So ``missing/..`` is
valid even if ``missing`` does not exist. This module must not know commands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from shell.browser import globs, names
from shell.browser.nodes import Directory, Node

Path = tuple[str, ...]
"""The unescaped names from the root, without the root."""


class PathMatch(NamedTuple):
    path: Path
    node: Node

    @property
    def label(self) -> str:
        """The last component, escaped; ``/`` for the root."""
        return names.written(self.path[-1]) if self.path else "/"


def path_text(path: Path) -> str:
    return "/" + "/".join(map(names.written, path))


def components(glob: str, working: Path) -> list[str]:
    """One glob per path component from the root. ``working`` is the current directory."""
    start = [] if glob.startswith("/") else [globs.literal(names.written(name)) for name in working]
    kept: list[str] = []
    for component in [*start, *glob.split("/")]:
        if component == "..":
            del kept[-1:]
        elif component not in ("", "."):
            kept.append(component)
    return kept


def expand(root: Directory, working: Path, glob: str) -> Iterator[PathMatch]:
    """The nodes that match ``glob``, in the order of their names."""
    return _walk(PathMatch((), root), components(glob, working))


def _walk(match: PathMatch, remaining: list[str]) -> Iterator[PathMatch]:
    if not remaining:
        yield match
        return
    if not isinstance(match.node, Directory):
        return
    for name in _matching(match.node, remaining[0]):
        node = match.node.child(name)
        if node is not None:
            yield from _walk(PathMatch((*match.path, name), node), remaining[1:])


def _matching(directory: Directory, glob: str) -> list[str]:
    pattern = globs.pattern(glob)
    if pattern is None:
        return [names.read(globs.unescaped(glob))]
    return [name for name in directory.names if pattern.fullmatch(names.written(name))]

"""Completes the word at the cursor: a command, a path component, or a command's argument.

If more than ``MOST_LISTED`` paths or arguments match, only their common prefix is a candidate.
This module must not know how candidates are shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from os.path import commonprefix
from typing import Final, NamedTuple

from shell.browser import globs, names, quoting
from shell.browser.nodes import Directory
from shell.browser.paths import expand
from shell.browser.session import ShellSession

MOST_LISTED: Final = 500


class CompletionCandidate(NamedTuple):
    """``text`` replaces the line from ``start`` on. The list of candidates shows ``label``."""

    start: int
    text: str
    label: str


def complete(session: ShellSession, line: str) -> Iterator[CompletionCandidate]:
    """Candidates for the last word of ``line``."""
    scanned = quoting.scan(line)
    *before, last = scanned.words
    command = session.commands.get(before[0]) if before else None
    if not before or (command is not None and command.takes == "a command"):
        for name in session.commands:
            if name.startswith(last):
                yield CompletionCandidate(scanned.last_start, f"{name} ", name)
    elif command is not None and callable(command.takes):
        prefix = globs.unescaped(last)
        words = command.takes(session, [globs.unescaped(word) for word in scanned.words[1:]])
        for word in _few([word for word in words if word.startswith(prefix)], prefix):
            end = "" if word.endswith(":") else " "
            text = quoting.quoted(globs.literal(word)) + end
            yield CompletionCandidate(scanned.last_start, text, word)
    elif command is not None and command.takes == "paths" and len(before) <= command.most:
        yield from _paths(session, last, scanned.last_start)


def _few(matching: list[str], prefix: str) -> list[str]:
    if len(matching) <= MOST_LISTED:
        return matching
    shared = commonprefix(matching)  # noqa: RUF071 (names, not paths)
    return [shared] if shared != prefix else []


def _paths(session: ShellSession, glob: str, start: int) -> Iterator[CompletionCandidate]:
    above, slash, last = glob.rpartition("/")
    match = next(expand(session.root, session.working, above + slash), None)
    if match is None or not isinstance(match.node, Directory):
        return
    prefix = globs.unescaped(last)
    matching = [name for name in map(names.written, match.node.names) if name.startswith(prefix)]
    for written in _few(matching, prefix):
        node = match.node.child(names.read(written))
        end = "/" if isinstance(node, Directory) else "" if node is None else " "
        text = quoting.quoted(above + slash + globs.literal(written))
        yield CompletionCandidate(start, text + end, written)

"""``ls``: list names, one per line, or in columns at the prompt."""

from __future__ import annotations

from collections.abc import Sequence

from shell.browser import names
from shell.browser.nodes import Directory
from shell.browser.session import Builtin, ShellSession
from shell.output.wrapping import text_width

_GAP = 2


def _run(session: ShellSession, words: Sequence[str]) -> None:
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


LS = Builtin(
    name="ls",
    synopsis="ls [PATH...]",
    summary="list directories; without PATH the current one",
    run=_run,
)

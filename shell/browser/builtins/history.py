"""``history``: the lines typed since the shell was started. They are not written to a file."""

from __future__ import annotations

from collections.abc import Sequence

from metalog.text.whole_numbers import whole_number
from shell.browser.session import Builtin, ShellSession


def _run(session: ShellSession, words: Sequence[str]) -> None:
    count = len(session.typed)
    wanted = whole_number(words[0]) if words else count
    if wanted is None:
        session.complain(f"history: {words[0]}: not a number of lines")
        return
    first = max(0, count - wanted)
    for number in range(first, count):
        session.say(f"{number:5}  {session.typed[number]}")


HISTORY = Builtin(
    name="history",
    synopsis="history [COUNT]",
    summary="list the lines typed so far, or the last COUNT of them",
    manual=("History is kept until the shell is left, and written nowhere.",),
    run=_run,
    most=1,
    takes="nothing",
)

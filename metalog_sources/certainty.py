"""Decides whether a source may be answered from: only without a doubt.

A doubt is whatever a strict loader stops at: a record that cannot be read, one that may not
mean what it seems to, records that are missing. One rule holds for every verb whose output
rests on ACLs or SCRAM users: with a doubt there is no answer, unless the caller asks to
salvage; then the output itself says what is missing. Verbs that show a log go on. What a
store has and could not be read is one as well, for the answers that rest on it.

This module must not know verbs, nor how anything is printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from metalog.errors import CorruptLog, UncertainSource
from metalog.loader import LoadDoubt
from metalog.plurals import counted

_ADVICE: Final = "no answer is certain without it; --salvage goes by the rest"
_ADVICE_TO_WRITERS: Final = (
    "nothing is written without it; metalog export --salvage gives the rest, to look at"
)
MARK: Final = "# missing: "
"""Begins a line of a file of ACLs that lacks something, before what that is."""


def refuse_doubts(doubts: Sequence[LoadDoubt], *, salvage: bool | None) -> None:
    """``UncertainSource`` with the first doubt, unless the caller asks to ``salvage``; None is
    for a caller that writes where nothing could say what is missing, and cannot ask to."""
    if doubts and not salvage:
        first = doubts[0].fault
        more = len(doubts) - 1
        others = f" (and {counted(more, 'doubt')} of another kind)" if more else ""
        raise UncertainSource(
            f"{first.problem}{others}",
            file=first.file,
            offset=first.offset,
            byte=first.byte,
            advice=_ADVICE_TO_WRITERS if salvage is None else _ADVICE,
        )


def doubt_line(doubt: LoadDoubt) -> str:
    """One line for a person: where, what, and how many records more."""
    fault = doubt.fault
    said = CorruptLog(fault.problem, file=fault.file, offset=fault.offset).found
    return said if doubt.records <= 1 else f"{said} ({doubt.records:,} records)"


def marks_in(text: str) -> tuple[str, ...]:
    """What a file of ACLs says that it lacks, a line each."""
    if MARK not in text:
        return ()
    return tuple(line.removeprefix(MARK) for line in text.splitlines() if line.startswith(MARK))


def doubt_fields(doubt: LoadDoubt) -> dict[str, Any]:
    """A doubt as JSON has it; ``offset`` and ``file`` are null where they are not known."""
    fault = doubt.fault
    return {
        "file": fault.file,
        "offset": fault.offset,
        "records": doubt.records,
        "reason": fault.problem,
    }

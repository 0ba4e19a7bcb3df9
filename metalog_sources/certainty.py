"""Refuses to answer from a source with a doubt.

A doubt is a fault at which a strict loader stops (an unreadable or ambiguous record, missing
records), or an unreadable part of a source that is not a log. A verb whose output depends on ACLs
or SCRAM users prints no answer if there is a doubt. With ``--salvage``, such a verb prints an
answer and lists what is missing. This module must not know verbs, nor how output is printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from metalog.errors import CorruptLog, UncertainSource
from metalog.loader import LoadDoubt
from metalog.text.plurals import counted

_ADVICE: Final = "so no answer is certain; --salvage answers from what can be read"
_ADVICE_TO_WRITERS: Final = (
    "so nothing is written; metalog export --salvage writes what can be read"
)
MARK: Final = "# missing: "
"""Begins a line of an incomplete file of ACLs. The rest of the line says what is missing."""


def refuse_doubts(doubts: Sequence[LoadDoubt], *, salvage: bool | None) -> None:
    """Raise ``UncertainSource`` with the first doubt, unless ``salvage`` is true.

    ``salvage`` is None for a verb that has no option ``--salvage``, because its output cannot name
    what is missing. Then the error advises ``metalog export --salvage``.
    """
    if doubts and not salvage:
        first = doubts[0].fault
        more = len(doubts) - 1
        others = f" (and {counted(more, 'other doubt')})" if more else ""
        raise UncertainSource(
            f"{first.problem}{others}",
            file=first.file,
            offset=first.offset,
            byte=first.byte,
            advice=_ADVICE_TO_WRITERS if salvage is None else _ADVICE,
        )


def doubt_line(doubt: LoadDoubt) -> str:
    """One line: the position, the problem, and the number of records if there are several."""
    fault = doubt.fault
    text = CorruptLog(fault.problem, file=fault.file, offset=fault.offset).found
    return text if doubt.records <= 1 else f"{text} ({doubt.records:,} records)"


def marks_in(text: str) -> tuple[str, ...]:
    """What is missing from a file of ACLs, as the lines that begin with ``MARK`` say."""
    if MARK not in text:
        return ()
    return tuple(line.removeprefix(MARK) for line in text.splitlines() if line.startswith(MARK))


def doubt_fields(doubt: LoadDoubt) -> dict[str, Any]:
    """A doubt as JSON; an unknown ``offset`` or ``file`` is null."""
    fault = doubt.fault
    return {
        "file": fault.file,
        "offset": fault.offset,
        "records": doubt.records,
        "reason": fault.problem,
    }

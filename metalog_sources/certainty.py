"""Refuses to answer from a source with a doubt.

A doubt is an unreadable, ambiguous or missing part of a source. If there is a doubt, a verb whose
output depends on ACLs or SCRAM users prints no answer. With ``--salvage``, such a verb prints an
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
"""Begins a line that says what is missing from a file of ACLs."""


def refuse_doubts(doubts: Sequence[LoadDoubt], *, salvage: bool | None) -> None:
    """Raise ``UncertainSource`` with the first doubt, unless ``salvage`` is true.

    ``salvage`` is None for a verb without the option ``--salvage``. Then the error advises
    ``metalog export --salvage``.
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
    """The position, the problem, and the number of records if there are several."""
    fault = doubt.fault
    text = CorruptLog(fault.problem, file=fault.file, offset=fault.offset).found
    return text if doubt.records <= 1 else f"{text} ({doubt.records:,} records)"


def marks_in(text: str) -> tuple[str, ...]:
    """The lines of ``text`` that begin with ``MARK``, without ``MARK``."""
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

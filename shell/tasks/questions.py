"""Questions after parsing, single or from a file.

This module must not know how the questions were typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from authorizer.trace import Question

if TYPE_CHECKING:
    from authorizer.audit.line import AuditLine


class ParsedQuestion(NamedTuple):
    """A question, and its audit line, if any."""

    question: Question
    audit: AuditLine | None = None
    host_as_typed: str | None = None
    """Set if Java writes the host in a different form."""
    had_line_breaks: bool = False
    """Line breaks were removed from a pasted line."""
    moment: str | None = None
    """The time of a pasted line, in the form that ``--at`` takes."""

    @property
    def request(self) -> str | None:
        return None if self.audit is None else self.audit.request_name

    @property
    def lines(self) -> Sequence[AuditLine]:
        return () if self.audit is None else (self.audit,)


class QuestionGroup(NamedTuple):
    """``times`` audit lines with the same question and result. ``line`` is the number of the first
    line. For ``--requests``, each line is a group."""

    parsed: ParsedQuestion
    times: int
    line: int

    def as_json(self) -> dict[str, Any]:
        audit = self.parsed.audit
        if audit is None:
            return {"line": self.line}
        return {"count": self.times, "logged": audit.result.value, "ambiguous": audit.ambiguous}


def lines_of(groups: Iterable[QuestionGroup]) -> list[AuditLine]:
    """The audit lines of ``groups``; none for an iterator, as for ``--requests``."""
    if not isinstance(groups, list):
        return []
    return [line for group in groups for line in group.parsed.lines]

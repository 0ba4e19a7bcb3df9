"""Questions after parsing, single or from a file.

This module must not know how they were typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from authorizer.trace import Question

if TYPE_CHECKING:
    from authorizer.audit.line import AuditLine


class ParsedQuestion(NamedTuple):
    """A question, and the audit line it comes from, if any."""

    question: Question
    audit: AuditLine | None = None
    host_as_typed: str | None = None
    """Set if Java writes the host in a different form."""
    was_broken: bool = False
    """Whether line breaks were removed from a pasted line."""
    moment: str | None = None
    """When a pasted line was written, as ``--at`` takes it."""

    @property
    def request(self) -> str | None:
        """Kafka's name of the logged request, from the audit line."""
        return None if self.audit is None else self.audit.request_name

    @property
    def lines(self) -> Sequence[AuditLine]:
        """The audit line in a tuple, or an empty tuple."""
        return () if self.audit is None else (self.audit,)


class QuestionGroup(NamedTuple):
    """Equal questions: ``times`` is how many lines of the file ask it, and ``line`` the first of
    them."""

    asked: ParsedQuestion
    times: int
    line: int

    def as_json(self) -> dict[str, Any]:
        audit = self.asked.audit
        if audit is None:
            return {"line": self.line}
        return {"count": self.times, "logged": audit.result.value, "ambiguous": audit.ambiguous}


def lines_of(groups: Iterable[QuestionGroup]) -> list[AuditLine]:
    """The audit lines of ``groups`` if they were read at once; requests, which are read one by
    one, have none."""
    if not isinstance(groups, list):
        return []
    return [line for group in groups for line in group.asked.lines]

"""Questions that were read, one by one or from a file.

This module must not know how they were typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from authorizer.trace import Question

if TYPE_CHECKING:
    from authorizer.audit.line import AuditLine


class ParsedQuestion(NamedTuple):
    """A question, and the audit line that it was read from, if it was."""

    question: Question
    audit: AuditLine | None = None
    host_as_typed: str | None = None
    """Set where Java writes the host otherwise than it was typed."""
    was_broken: bool = False
    """Whether line breaks were taken out of a pasted line."""
    moment: str | None = None
    """When a pasted line was written, as ``--at`` takes it."""

    @property
    def request(self) -> str | None:
        """Kafka's name of the request that was answered, from the audit line."""
        return None if self.audit is None else self.audit.request_name

    @property
    def lines(self) -> Sequence[AuditLine]:
        """The audit line, if there is one."""
        return () if self.audit is None else (self.audit,)


class QuestionGroup(NamedTuple):
    """A question, and how many lines of the file ask it; ``line`` is the first of them."""

    asked: ParsedQuestion
    times: int
    line: int

    def as_json(self) -> dict[str, Any]:
        audit = self.asked.audit
        if audit is None:
            return {"line": self.line}
        return {"count": self.times, "logged": audit.result.value, "ambiguous": audit.ambiguous}


def lines_of(groups: Iterable[QuestionGroup]) -> list[AuditLine]:
    """The audit lines of ``groups`` that were read at once; requests come one by one, and are
    none."""
    if not isinstance(groups, list):
        return []
    return [line for group in groups for line in group.asked.lines]

"""A temporary ACL whose time is over."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

from authorizer.analysis.lint.finding import Check, CheckInput, Finding, LintSubject, Severity


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl, notes in (subject.notes or {}).items():
        if notes.expires is not None and _day(notes.expires) < subject.today:
            yield Finding(Severity.ERROR, f"it expired on {notes.expires}", acl, remove=(acl,))


def _day(text: str) -> date:
    """The last valid day of an ACL, in UTC."""
    moment = datetime.fromisoformat(text)
    return moment.date() if moment.tzinfo is None else moment.astimezone(UTC).date()


CHECK = Check("expired", "An ACL that has expired.", _find, CheckInput.NOTES)

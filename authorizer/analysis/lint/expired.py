"""An ACL that was to be there for a time only, which is over."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

from authorizer.analysis.lint.finding import Check, CheckInput, Finding, LintSubject, Severity


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl, notes in (subject.notes or {}).items():
        if notes.expires is not None and _day(notes.expires) < subject.today:
            yield Finding(Severity.ERROR, f"it expired on {notes.expires}", acl, remove=(acl,))


def _day(text: str) -> date:
    """The last day on which it may be there, in UTC; the day itself is still within."""
    moment = datetime.fromisoformat(text)
    return moment.date() if moment.tzinfo is None else moment.astimezone(UTC).date()


CHECK = Check("expired", "An ACL whose time is over.", _find, CheckInput.NOTES)

"""An ACL without an owner."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, CheckInput, Finding, LintSubject, Severity


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl, notes in (subject.notes or {}).items():
        if not notes.owner:
            yield Finding(Severity.INFO, "it has no owner", acl, advice="add owner: TEAM")


CHECK = Check("no-owner", "An ACL without an owner.", _find, CheckInput.NOTES)

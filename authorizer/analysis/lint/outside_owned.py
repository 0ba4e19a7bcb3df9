"""An ACL in a file that says what it owns, and does not own it."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, CheckInput, Finding, LintSubject, Severity


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl, why in (subject.outside or {}).items():
        yield Finding(
            Severity.WARNING,
            why,
            acl,
            advice="move it to the file that owns it, or own it here: nothing removes it else",
        )


CHECK = Check("outside-owned", "An ACL in a file that owns others only.", _find, CheckInput.OWNS)

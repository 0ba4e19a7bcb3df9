"""An ACL in a file whose ``owns`` does not cover it."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, CheckInput, Finding, LintSubject, Severity


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl, reason in (subject.outside or {}).items():
        yield Finding(
            Severity.WARNING,
            reason,
            acl,
            advice="move it to the file that owns it, or own it here: --prune ignores it now",
        )


CHECK = Check("outside-owned", "An ACL that its own file does not own.", _find, CheckInput.OWNS)

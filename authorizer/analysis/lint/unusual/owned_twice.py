"""ACLs that two files own."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, CheckInput, Finding, LintSubject, Severity


def _find(subject: LintSubject) -> Iterator[Finding]:
    for place, reason in subject.owned_twice:
        yield Finding(
            Severity.ERROR, reason, name=place, advice="let one file own these ACLs, or divide them"
        )


CHECK = Check("owned-twice", "Two files own the same ACLs.", _find, CheckInput.OWNS)

"""Resources without ACLs are open to everyone."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity


def _find(subject: LintSubject) -> Iterator[Finding]:
    if subject.config.allow_everyone:
        yield Finding(
            Severity.WARNING,
            "everyone may do everything with a resource that no ACL reaches, such as a new topic",
            name="allow.everyone.if.no.acl.found=true",
        )


CHECK = Check("open-by-default", "Resources without ACLs are open to everyone.", _find)

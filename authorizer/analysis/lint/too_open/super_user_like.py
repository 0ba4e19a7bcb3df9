"""A grant that makes a principal nearly as powerful as a super user."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from authorizer.analysis.remedies.powers import power


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        if acl.principal not in subject.config.super_users:
            message = power(acl)
            if message is not None:
                yield Finding(Severity.WARNING, message, acl)


CHECK = Check("super-user-like", "A principal with the power of a super user.", _find)

"""An ACL of a super user, which Kafka never checks."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, CheckInput, Finding, LintSubject, Severity
from authorizer.trace import is_allow


def _find(subject: LintSubject) -> Iterator[Finding]:
    super_users = subject.config.super_users
    for acl in subject.acls:
        if acl.principal not in super_users:
            continue
        if is_allow(acl):
            said = "a super user may do it anyway, and still may when it is one no more"
            yield Finding(Severity.INFO, said, acl, remove=(acl,))
        else:
            said = "a super user is never denied anything"
            yield Finding(
                Severity.ERROR, said, acl, advice="take it out of super.users, or remove the DENY"
            )


CHECK = Check("super-user-acl", "An ACL that no broker ever asks.", _find, CheckInput.SUPER_USERS)

"""An ACL of a super user, whom Kafka allows everything without ACLs.

Such an ACL still ends ``allow.everyone.if.no.acl.found`` on its names for everybody else.
"""

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
            message = (
                "a super user needs no ACL; this one stays in force if the user leaves super.users"
            )
            yield Finding(Severity.INFO, message, acl, remove=(acl,))
        else:
            message = "no DENY has an effect on a super user"
            advice = "remove the user from super.users"
            if not subject.config.allow_everyone:
                advice += ", or remove the DENY"
            yield Finding(Severity.ERROR, message, acl, advice=advice)


CHECK = Check("super-user-acl", "An ACL of a super user.", _find, CheckInput.SUPER_USERS)

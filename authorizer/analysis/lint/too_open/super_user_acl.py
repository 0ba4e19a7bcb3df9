"""An ACL of a super user, which Kafka does not need to let it do anything.

Kafka counts it all the same: it ends ``allow.everyone.if.no.acl.found`` for everybody else.
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
            said = "a super user may do it anyway; the grant stays if it leaves super.users"
            yield Finding(Severity.INFO, said, acl, remove=(acl,))
        else:
            said = "Kafka denies a super user nothing"
            advice = "take it out of super.users"
            if not subject.config.allow_everyone:
                advice += ", or remove the DENY"
            yield Finding(Severity.ERROR, said, acl, advice=advice)


CHECK = Check("super-user-acl", "An ACL of a super user.", _find, CheckInput.SUPER_USERS)

"""A SCRAM user that no ACL names."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, CheckInput, Finding, LintSubject, Severity


def _find(subject: LintSubject) -> Iterator[Finding]:
    named = {acl.principal for acl in subject.acls} | subject.config.super_users
    for user in sorted(subject.users or ()):
        if f"User:{user}" not in named:
            yield Finding(
                Severity.INFO,
                "it can log in, but no ACL names it: an unneeded user, or a typo",
                name=f"User:{user}",
            )


CHECK = Check("user-without-acl", "A SCRAM user that no ACL names.", _find, CheckInput.USERS)

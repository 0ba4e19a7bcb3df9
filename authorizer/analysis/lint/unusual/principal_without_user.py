"""A principal that cannot log in by SCRAM, where others can."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.explain.names import nearest_name
from authorizer.analysis.lint.finding import Check, CheckInput, Finding, LintSubject, Severity
from metalog.acl import WILDCARD, Acl

_USER = "User:"
_COMPARED = 20
"""How many principals get a near match: each search costs some milliseconds."""


def _find(subject: LintSubject) -> Iterator[Finding]:
    users = set(subject.users or ())
    first: dict[str, Acl] = {}
    for acl in subject.acls:
        if acl.principal not in first and _may_be_scram(acl.principal):
            first[acl.principal] = acl
    missing = [each for each in first if each.removeprefix(_USER) not in users]
    for number, principal in enumerate(missing):
        name = principal.removeprefix(_USER)
        near = nearest_name(name, users) if number < _COMPARED else None
        message = f"there is no SCRAM user {name}"
        if near is not None:
            message += f"; there is {near}"
        yield Finding(
            Severity.INFO if near is None else Severity.WARNING, message, first[principal]
        )


def _may_be_scram(principal: str) -> bool:
    """Whether it is a User, but not a distinguished name, a Kerberos name or one of Kafka's own."""
    name = principal.removeprefix(_USER)
    return (
        principal.startswith(_USER)
        and name not in (WILDCARD, "ANONYMOUS")
        and not any(letter in name for letter in "=@/")
    )


CHECK = Check(
    "principal-without-user", "A principal that is not a SCRAM user.", _find, CheckInput.USERS
)

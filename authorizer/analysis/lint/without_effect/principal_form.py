"""A principal in a spelling that Kafka never uses."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL

_USER = "User"


def _find(subject: LintSubject) -> Iterator[Finding]:
    faults = {principal: _fault(principal) for principal in {acl.principal for acl in subject.acls}}
    for acl in subject.acls:
        fault = faults[acl.principal]
        if fault is not None:
            problem, mended = fault
            add = () if mended is None else (acl._replace(principal=mended),)
            yield Finding(Severity.ERROR, problem, acl, remove=(acl,) if add else (), add=add)


def _fault(principal: str) -> tuple[str, str | None] | None:
    """The fault, and the principal that was probably meant."""
    kind, colon, name = principal.partition(":")
    if not colon:
        return "its principal has no type, so it matches nobody", f"{_USER}:{principal}"
    if kind != _USER and kind.strip().casefold() == _USER.casefold():
        return "its principal's type is not spelled User, so it matches nobody", f"{_USER}:{name}"
    return None if principal == WILDCARD_PRINCIPAL else _name_fault(kind, name)


def _name_fault(kind: str, name: str) -> tuple[str, str | None] | None:
    if not name.strip():
        return "its principal has no name, so it matches nobody", None
    if name == WILDCARD:
        return f"only {WILDCARD_PRINCIPAL} means everyone; here * is a plain character", None
    if name.endswith(WILDCARD):
        return "the * in its principal is a plain character; name each principal", None
    if name != name.strip():
        return "its principal has blanks around its name", f"{kind}:{name.strip()}"
    return None


CHECK = Check("principal-form", "A principal that no client of Kafka can have.", _find)

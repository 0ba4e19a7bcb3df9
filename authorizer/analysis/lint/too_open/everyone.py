"""A grant to everyone who can connect."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from authorizer.trace import is_allow
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Operation, ResourceType

_HARMLESS = frozenset(
    {
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.DESCRIBE_TOKENS,
        Operation.IDEMPOTENT_WRITE,
    }
)


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        if acl.principal != WILDCARD_PRINCIPAL or not is_allow(acl) or acl.operation in _HARMLESS:
            continue
        reads = acl.operation is Operation.READ
        if reads and acl.resource_type is not ResourceType.TOPIC:
            continue
        clients = "anyone who can connect" if acl.host == WILDCARD else "anyone from that host"
        yield Finding(
            Severity.WARNING if reads else Severity.ERROR,
            f"{clients} may do it, also User:ANONYMOUS",
            acl,
            remove=(acl,),
            advice="first allow it for the principals that need it; metalog can --audit "
            "lists who uses it",
        )


CHECK = Check("everyone", "Everyone is allowed to read or change something.", _find)

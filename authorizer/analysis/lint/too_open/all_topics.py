"""A grant on all topics, future ones included."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from authorizer.trace import is_allow
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl, Operation, PatternType, ResourceType

_CHANGES = frozenset(
    {Operation.ALL, Operation.WRITE, Operation.DELETE, Operation.ALTER, Operation.ALTER_CONFIGS}
)


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        if not _is_of_interest(acl) or acl.principal == WILDCARD_PRINCIPAL:
            continue
        if acl.operation in _CHANGES:
            message = "it reaches every topic, also __consumer_offsets and future ones"
            yield Finding(Severity.WARNING, message, acl)
        elif acl.operation is Operation.READ:
            yield Finding(Severity.INFO, "it reaches every topic, also future ones", acl)


def _is_of_interest(acl: Acl) -> bool:
    is_literal = acl.pattern_type is PatternType.LITERAL
    return (
        acl.resource_type is ResourceType.TOPIC
        and is_allow(acl)
        and acl.resource_name == (WILDCARD if is_literal else "")
    )


CHECK = Check("all-topics", "A principal may read or change every topic.", _find)

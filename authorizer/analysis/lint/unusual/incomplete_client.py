"""A principal with only half of the permissions of a consumer or transactional producer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from authorizer.permissions.table import CONSUMER, TRANSACTIONAL_PRODUCER
from authorizer.trace import is_allow
from metalog.acl import WILDCARD_PRINCIPAL, Acl, Operation, ResourceType


class _Half(NamedTuple):
    """The ``message`` for a principal that has permission ``one`` of a task and lacks ``other``."""

    one: tuple[Operation, ResourceType]
    other: tuple[Operation, ResourceType]
    message: str


_READ_TOPIC = (Operation.READ, ResourceType.TOPIC)
_WRITE_TOPIC = (Operation.WRITE, ResourceType.TOPIC)
_READ_GROUP = (Operation.READ, ResourceType.GROUP)
_TRANSACTION = (Operation.WRITE, ResourceType.TRANSACTIONAL_ID)

HALVES = {
    CONSUMER: (
        _Half(_READ_TOPIC, _READ_GROUP, "may READ a topic but no group: it cannot subscribe"),
        _Half(_READ_GROUP, _READ_TOPIC, "may READ a group but no topic"),
    ),
    TRANSACTIONAL_PRODUCER: (
        _Half(_TRANSACTION, _WRITE_TOPIC, "may use a transactional id but WRITE no topic"),
    ),
}
"""By task: its requests need both permissions."""


def _find(subject: LintSubject) -> Iterator[Finding]:
    for one, other, message in (half for halves in HALVES.values() for half in halves):
        able = {acl.principal for acl in subject.acls if _grants(acl, other)}
        if WILDCARD_PRINCIPAL in able:
            continue
        reported: set[str] = set()
        for acl in subject.acls:
            principal = acl.principal
            if principal in able or principal in reported or principal == WILDCARD_PRINCIPAL:
                continue
            if _grants(acl, one):
                reported.add(principal)
                yield Finding(Severity.INFO, f"{principal} {message}", acl)


def _grants(acl: Acl, what: tuple[Operation, ResourceType]) -> bool:
    operation, resource_type = what
    return (
        acl.resource_type is resource_type
        and acl.operation in (Operation.ALL, operation)
        and is_allow(acl)
    )


CHECK = Check("incomplete-client", "Only half of a consumer's or producer's permissions.", _find)

"""An operation that Kafka never checks on a resource of that type."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from authorizer.engine.decide import ALLOWS
from authorizer.trace import is_allow
from metalog.acl import SUPPORTED_OPERATIONS, Acl, Operation


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        supported = SUPPORTED_OPERATIONS.get(acl.resource_type)
        if supported is None or acl.operation in supported:
            continue
        if acl.operation > Operation.ALL:
            kind = acl.resource_type.name.replace("_", " ").lower()
            yield Finding(
                Severity.WARNING,
                f"Kafka never checks {acl.operation.name} on a {kind}{_but(acl, supported)}",
                acl,
                advice="kafka-acls cannot remove it; metalog apply --prune can",
            )


def _but(acl: Acl, supported: frozenset[Operation]) -> str:
    implied = [each for each in supported if ALLOWS[acl.operation] >> each & 1]
    if not is_allow(acl) or not implied:
        return ""
    return f"; it only allows {', '.join(sorted(each.name for each in implied))}"


CHECK = Check("operation", "An operation that Kafka never checks on this resource type.", _find)

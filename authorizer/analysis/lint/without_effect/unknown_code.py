"""An ACL with a code that Kafka 4.3 does not know."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from metalog.acl import Operation, PatternType, PermissionType, ResourceType

_KNOWN_CODES = (
    frozenset(ResourceType) - {ResourceType.UNKNOWN, ResourceType.ANY},
    frozenset({PatternType.LITERAL, PatternType.PREFIXED}),
    frozenset(Operation) - {Operation.UNKNOWN, Operation.ANY},
    frozenset({PermissionType.ALLOW, PermissionType.DENY}),
)
_KNOWN = frozenset(product(*_KNOWN_CODES))
_FIELDS = ("resource type", "pattern type", "operation", "permission")


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        codes = acl.resource_type, acl.pattern_type, acl.operation, acl.permission_type
        if codes not in _KNOWN:
            odd = [
                field
                for field, code, known in zip(_FIELDS, codes, _KNOWN_CODES, strict=True)
                if code not in known
            ]
            yield Finding(
                Severity.ERROR,
                f"Kafka 4.3 does not know its {' and '.join(odd)}; an unknown permission denies, "
                "an unknown pattern type is a prefix",
                acl,
            )


CHECK = Check("unknown-code", "An ACL with a code that Kafka 4.3 does not know.", _find)

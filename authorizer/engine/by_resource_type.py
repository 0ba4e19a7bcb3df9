"""Decides whether a session may perform an operation on some resource of a type (KIP-679).

As in Kafka, an ALLOW must exist that no DENY dominates. A DENY on the literal ``*`` dominates all
ALLOWs, and only such a DENY dominates an ALLOW on the literal ``*``. A DENY on the same pattern
dominates any other ALLOW. So does a PREFIXED DENY, if the ALLOW's name begins with the DENY's name.

This module must not know the default rule, nor cache decisions.
"""

from __future__ import annotations

from authorizer.engine.buckets import Bucket
from authorizer.engine.decide import Subject, concerns
from authorizer.engine.index import PATTERN_TYPES, AclIndex
from authorizer.engine.prefixes import Prefix, combined
from metalog.acl import WILDCARD, Operation, PatternType, PermissionType, ResourceType


def is_allowed_on_some(
    index: AclIndex, who: Subject, operation: Operation, resource_type: ResourceType
) -> bool:
    """Whether an ALLOW of ``operation`` for ``who`` exists that no DENY dominates."""
    literals, prefixed = index.literals[resource_type], index.prefixed[resource_type]

    def denies(bucket: Bucket) -> bool:
        return _denies(bucket, who, operation)

    if literals.wildcard is not None and denies(literals.wildcard):
        return False
    denied_by_prefix: dict[Prefix | None, bool] = {None: False}
    for pattern_type, name in index.allowing(who, operation, resource_type):
        if pattern_type is PatternType.LITERAL:
            if name == WILDCARD:
                return True
            if denies(literals.buckets[name]):
                continue
        if not combined(
            prefixed.longest_prefix(name),
            denied_by_prefix,
            lambda denied, prefix: denied or denies(prefixed.buckets[prefix.name]),
        ):
            return True
    return False


def _denies(bucket: Bucket, who: Subject, operation: Operation) -> bool:
    """Whether a DENY matches. Here Kafka ignores unknown permissions and pattern types. In a
    decision on one name, Kafka treats them as DENY and PREFIXED."""
    return any(
        acl.permission_type is PermissionType.DENY
        and acl.pattern_type in PATTERN_TYPES
        and concerns(acl, operation)
        and who.matches(acl)
        for acl in bucket.of(who)
    )

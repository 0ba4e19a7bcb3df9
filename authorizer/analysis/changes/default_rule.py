"""Names that gain their first ACL or lose their last one, where allow.everyone.if.no.acl.found.

Kafka allows everybody everything on a name that no ACL reaches. The first ACL there, a DENY too,
ends that for everybody else; without the last ACL everybody is allowed. This module must not know
who is allowed what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from authorizer.analysis.access.coverage import Coverage
from authorizer.kafka_version import KafkaVersion
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl, Operation, PermissionType


def without_cover(patterns: Iterable[Acl], acls: Iterable[Acl]) -> Iterator[Acl]:
    """The first of ``patterns`` on each resource pattern with names that none of ``acls`` reaches.

    Args:
        patterns: what is added, beside the ACLs before; or removed, beside the ACLs that stay.
        acls: the ACLs of the other moment, in any order.
    """
    others = Coverage({_pattern(acl) for acl in acls}, KafkaVersion.V4_3)
    seen = set()
    for acl in patterns:
        pattern = _pattern(acl)
        if pattern not in seen and not any(others.covering(pattern)):
            yield acl
        seen.add(pattern)


def _pattern(acl: Acl) -> Acl:
    return acl._replace(
        principal=WILDCARD_PRINCIPAL,
        host=WILDCARD,
        operation=Operation.ALL,
        permission_type=PermissionType.ALLOW,
    )

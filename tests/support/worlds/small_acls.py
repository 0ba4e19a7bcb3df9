"""A few ACLs and their lifetimes, short to write down."""

from typing import Any

from authorizer.history.timeline import AclLifetime
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.ids import Uuid

BOB = "User:bob"


def allow(
    name: str,
    operation: Operation = Operation.READ,
    principal: str = BOB,
    *,
    host: str = "*",
    prefixed: bool = False,
    kind: ResourceType = ResourceType.TOPIC,
) -> Acl:
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    return Acl(kind, name, pattern, principal, host, operation, PermissionType.ALLOW)


def deny(
    name: str, operation: Operation = Operation.READ, principal: str = BOB, **more: Any
) -> Acl:
    acl = allow(name, operation, principal, **more)
    return acl._replace(permission_type=PermissionType.DENY)


def lived(number: int, acl: Acl) -> AclLifetime:
    """A lifetime that began before the history and has no end."""
    return AclLifetime(Uuid(number.to_bytes(16, "big")), acl, None, None)

"""KIP-11's early draft: ``SimpleAclAuthorizer(DRAFT)`` on today's log.

It is for ACLs, scripts and ZooKeeper nodes from the time of the draft. It decides as the draft did,
so that their replacement can be compared with it.

A resource without ACLs is open to everybody. A principal may be a bare name, and ``*:*`` is
everybody; ALTER is called EDIT; an ACL has one principal; an unauthenticated client is
"Dr. Who?"; and the exception has four fields. No configuration and no module loads it. This
module must not know how a decision is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from authorizer.compat.kip11.model import (
    Acl,
    AuthorizationException,
    Resource,
    Session,
    operation_of,
    principal_of,
)
from authorizer.compat.kip11.simple import Rules
from metalog.acl import Operation, PermissionType
from metalog.principal import KafkaPrincipal

DR_WHO: Final = KafkaPrincipal("User", "Dr. Who?")
_EVERYBODY: Final = KafkaPrincipal("User", "*")
_EDIT: Final = "EDIT"


class DraftAuthorizationException(AuthorizationException):
    """The draft's exception, with its four fields."""

    def __init__(self, principal: str, operation: Operation, host: str, resource: str) -> None:
        super().__init__(principal, operation, host, resource)
        self.principal = principal
        self.operation = operation
        self.host = host
        self.resource = resource

    def __str__(self) -> str:
        return (
            f"{self.principal} is not authorized to {self.operation.name} {self.resource} "
            f"from {self.host}"
        )


def anonymous(host: str) -> Session:
    """The session of an unauthenticated connection."""
    return Session(DR_WHO, host)


def acl(
    principal: KafkaPrincipal | str,
    permission_type: PermissionType | str,
    hosts: Iterable[str],
    operations: Iterable[Operation | str],
) -> Acl:
    return Acl(
        {_principal(principal)}, permission_type, hosts, {_operation(each) for each in operations}
    )


def _principal(principal: KafkaPrincipal | str) -> KafkaPrincipal:
    if str(principal) == "*:*":
        return _EVERYBODY
    if isinstance(principal, str) and ":" not in principal:
        return KafkaPrincipal("User", principal)
    return principal_of(principal)


def _operation(operation: Operation | str) -> Operation:
    return Operation.ALTER if operation == _EDIT else operation_of(operation)


def _refusal(session: Session, operation: Operation | str, resource: Resource) -> Exception:
    return DraftAuthorizationException(
        str(_principal(session.principal)), _operation(operation), session.host, resource.name
    )


DRAFT: Final = Rules(True, _principal, _operation, _refusal)

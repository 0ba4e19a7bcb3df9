"""The types of KIP-11's interface: sessions, resources and ACLs.

A KIP-11 ACL has sets of principals, hosts and operations. The log has one ACL (here: an entry) for
each combination. ``user:`` becomes ``User:``, and CONSUMER_GROUP becomes GROUP. This module must
not know decisions, nor where ACLs are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from itertools import product
from typing import Final, NamedTuple, TypeVar

from metalog.acl import Acl as Entry
from metalog.acl import Operation, PatternType, PermissionType, ResourceType
from metalog.errors import InvalidRequest, MetalogError
from metalog.principal import KafkaPrincipal, parse_principal

Member = TypeVar("Member", bound=IntEnum)

ANONYMOUS: Final = KafkaPrincipal("User", "Anonymous")
"""KIP-11's principal for an unauthenticated connection; later versions of Kafka use ANONYMOUS."""

_OLD_TYPES: Final = {"user": "User", "group": "Group"}
_OLD_RESOURCE_TYPES: Final = {"CONSUMER_GROUP": "GROUP"}


class AuthorizationException(MetalogError):
    """A principal is not authorized to perform an operation."""


class Session(NamedTuple):
    """A client's principal and address."""

    principal: KafkaPrincipal | str
    host: str


def anonymous(host: str) -> Session:
    """The session of an unauthenticated connection."""
    return Session(ANONYMOUS, host)


def principal_of(principal: KafkaPrincipal | str) -> KafkaPrincipal:
    """The principal ``type:name``, with the type spelled as in today's log."""
    kind, name = parse_principal(principal) if isinstance(principal, str) else principal
    return KafkaPrincipal(_OLD_TYPES.get(kind, kind), name)


def operation_of(operation: Operation | str) -> Operation:
    return _member(Operation, operation)


class _Resource(NamedTuple):
    resource_type: ResourceType
    name: str
    pattern_type: PatternType


class Resource(_Resource):
    """A resource, or a pattern of names (KIP-290), LITERAL or PREFIXED."""

    __slots__ = ()

    def __new__(
        cls,
        resource_type: ResourceType | str,
        name: str,
        pattern_type: PatternType | str = PatternType.LITERAL,
    ) -> Resource:
        if isinstance(resource_type, str):
            resource_type = _OLD_RESOURCE_TYPES.get(resource_type, resource_type)
        pattern = _member(PatternType, pattern_type)
        if pattern not in (PatternType.LITERAL, PatternType.PREFIXED):
            raise InvalidRequest(
                f"a resource is LITERAL or PREFIXED; {pattern.name} is for filters (KIP-290)"
            )
        return super().__new__(cls, _member(ResourceType, resource_type), name, pattern)


class _Acl(NamedTuple):
    principals: frozenset[KafkaPrincipal]
    permission_type: PermissionType
    hosts: frozenset[str]
    operations: frozenset[Operation]


class Acl(_Acl):
    """Allows or denies ``operations`` to ``principals`` from ``hosts``.

    ``user:*`` means everybody, the host ``*`` means every host, and ALL means every operation.
    """

    __slots__ = ()

    def __new__(
        cls,
        principals: Iterable[KafkaPrincipal | str],
        permission_type: PermissionType | str,
        hosts: Iterable[str],
        operations: Iterable[Operation | str],
    ) -> Acl:
        for values in (principals, hosts, operations):
            if isinstance(values, str):
                raise InvalidRequest(f"an ACL takes sets; give {{{values!r}}}")
        acl = super().__new__(
            cls,
            frozenset(map(principal_of, principals)),
            _member(PermissionType, permission_type),
            frozenset(hosts),
            frozenset(map(operation_of, operations)),
        )
        if not (acl.principals and acl.hosts and acl.operations):
            raise InvalidRequest("an ACL needs at least a principal, a host and an operation")
        return acl


def entries_of(acls: Iterable[Acl], resource: Resource) -> list[Entry]:
    """The log's ACLs for ``acls`` on ``resource``, sorted and distinct."""
    return sorted(
        {
            Entry(*resource, str(principal), host, operation, acl.permission_type)
            for acl in acls
            for principal, host, operation in product(acl.principals, acl.hosts, acl.operations)
        }
    )


def regrouped(entries: Iterable[Entry]) -> set[Acl]:
    """The KIP-11 ACLs for ``entries``, which must have the same resource.

    The entries of one KIP-11 ACL become this ACL again.
    """
    operations: dict[tuple[PermissionType, str, str], set[Operation]] = {}
    for entry in entries:
        by_host = (entry.permission_type, entry.principal, entry.host)
        operations.setdefault(by_host, set()).add(entry.operation)
    hosts: dict[tuple[PermissionType, str, frozenset[Operation]], set[str]] = {}
    for (permission, principal, host), found in operations.items():
        hosts.setdefault((permission, principal, frozenset(found)), set()).add(host)
    principals: dict[
        tuple[PermissionType, frozenset[str], frozenset[Operation]], set[KafkaPrincipal]
    ] = {}
    for (permission, principal, operation_set), at in hosts.items():
        members = principals.setdefault((permission, frozenset(at), operation_set), set())
        members.add(_principal_in_log(principal))
    return {
        Acl._make((frozenset(who), permission, at_hosts, operation_set))
        for (permission, at_hosts, operation_set), who in principals.items()
    }


def _principal_in_log(text: str) -> KafkaPrincipal:
    kind, colon, name = text.partition(":")
    return KafkaPrincipal(kind, name) if colon else KafkaPrincipal("", text)


def _member(kind: type[Member], value: IntEnum | str) -> Member:
    if isinstance(value, kind):
        return value
    try:
        return kind[str(value)]
    except KeyError:
        raise InvalidRequest(f"there is no {kind.__name__} {value}") from None

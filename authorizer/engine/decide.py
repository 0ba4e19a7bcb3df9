"""Defines a decision, and makes one from the ACLs that reach a resource.

The rules are those of KIP-11 and KIP-290 as Kafka's StandardAuthorizer applies
them: a matching DENY denies; else a matching ALLOW allows; else, if no ACL
reaches the resource at all, the default rule; else it is denied. A permission that
this version does not know is taken as DENY, as Kafka takes it.

This module must not know how the ACLs of a resource are found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum
from operator import itemgetter
from typing import Final, NamedTuple

from authorizer.kafka_version import KafkaVersion
from metalog.acl import (
    IMPLIED_BY,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    java_order,
)
from metalog.host_block import ClientAddress, client_address, host_block

SUPER_USER: Final = "SuperUser"
DEFAULT_ALLOW: Final = "DefaultAllow"
DEFAULT_DENY: Final = "DefaultDeny"
MATCHING_ACL: Final = "MatchingAcl"


class AuthorizationResult(Enum):
    """ALLOWED, which counts as true, or DENIED, which counts as false."""

    ALLOWED = "ALLOWED"
    DENIED = "DENIED"

    def __bool__(self) -> bool:
        return self is ALLOWED


ALLOWED: Final = AuthorizationResult.ALLOWED
DENIED: Final = AuthorizationResult.DENIED
ALLOW: Final = PermissionType.ALLOW


class Decision(NamedTuple):
    """A result and the rule that Kafka names for it; ``acl`` only where the rule is MatchingAcl."""

    result: AuthorizationResult
    rule: str
    acl: Acl | None = None


ALLOWED_TO_SUPER_USER: Final = Decision(ALLOWED, SUPER_USER)
ALLOWED_BY_DEFAULT: Final = Decision(ALLOWED, DEFAULT_ALLOW)
DENIED_BY_DEFAULT: Final = Decision(DENIED, DEFAULT_DENY)


Masks = tuple[int, int]
"""The operations that are allowed, and those that are denied, a bit each."""


class Subject(NamedTuple):
    """What the principal and the host of an ACL must be among to match a session.

    With an ``address`` a host also matches that is a block which contains it. Without one,
    ``hosts`` has the texts of all such blocks, or Kafka's version knows none.
    """

    principals: Collection[str]
    hosts: Collection[str]
    address: ClientAddress | None = None

    def matches(self, acl: Acl) -> bool:
        return acl.principal in self.principals and self.comes_from(acl.host)

    def comes_from(self, host: str) -> bool:
        """Whether the client is among those that an ACL's ``host`` matches."""
        if host in self.hosts:
            return True
        if self.address is None or "/" not in host:
            return False
        block = host_block(host)
        return block is not None and block.contains(self.address)


def subject(host: str, *principals: str, kafka: KafkaVersion) -> Subject:
    """A session of ``principals``, each ``Type:name``, from ``host``, as ``kafka`` sees it."""
    address = client_address(host) if kafka.matches_blocks else None
    everybody = tuple(dict.fromkeys((WILDCARD_PRINCIPAL, *principals)))
    return Subject(everybody, tuple(dict.fromkeys((WILDCARD, host))), address)


ALL_OPERATIONS: Final = (1 << len(Operation)) - 1


def _allowed_by(operation: Operation) -> int:
    if operation is Operation.ALL:
        return ALL_OPERATIONS
    implied = [asked for asked, grounds in IMPLIED_BY.items() if operation in grounds]
    return sum(1 << asked for asked in (operation, *implied))


def _denied_by(operation: Operation) -> int:
    return ALL_OPERATIONS if operation is Operation.ALL else 1 << operation


ALLOWS: Final = tuple(map(_allowed_by, Operation))
"""By the operation of an ALLOW: which operations it allows, a bit each."""
DENIES: Final = tuple(map(_denied_by, Operation))
"""By the operation of any other ACL: which operations it denies, a bit each."""


def concerns(acl: Acl, operation: Operation) -> bool:
    """Whether ``acl`` allows or denies ``operation``, to whomever it does."""
    masks = ALLOWS if acl.permission_type is ALLOW else DENIES
    return masks[acl.operation] >> operation & 1 == 1


def decision_order(acl: Acl, name: str) -> tuple[object, ...]:
    """Sorts the ACLs that reach a resource ``name`` as Kafka considers them: literal,
    prefixes from long to short, wildcard; within a pattern by operation, principal, host."""
    is_wildcard = acl.pattern_type is PatternType.LITERAL and acl.resource_name != name
    return is_wildcard, -len(acl.resource_name), *order_in_pattern(acl)


def sorted_in_pattern(acls: Iterable[Acl]) -> tuple[Acl, ...]:
    """ACLs of one pattern in Kafka's order; Java's order of ASCII texts is also Python's."""
    listed = list(acls)
    texts = "".join([acl.principal + acl.host for acl in listed])
    return tuple(sorted(listed, key=_AS_IT_STANDS if texts.isascii() else order_in_pattern))


_AS_IT_STANDS: Final = itemgetter(2, 5, 3, 4, 6)
"""Of an ``Acl``: the fields of ``order_in_pattern``."""


def order_in_pattern(acl: Acl) -> tuple[object, ...]:
    return (
        acl.pattern_type,
        acl.operation,
        java_order(acl.principal),
        java_order(acl.host),
        acl.permission_type,
    )


def decide(
    candidates: Iterable[Acl], who: Subject, operation: Operation, *, allow_everyone: bool
) -> Decision:
    """What ``candidates``, in ``decision_order``, come to: the first DENY, or the last ALLOW."""
    reached = False
    allow: Acl | None = None
    for acl in candidates:
        reached = True
        if concerns(acl, operation) and who.matches(acl):
            if acl.permission_type is not ALLOW:
                return Decision(DENIED, MATCHING_ACL, acl)
            allow = acl
    if allow is not None:
        return Decision(ALLOWED, MATCHING_ACL, allow)
    return ALLOWED_BY_DEFAULT if allow_everyone and not reached else DENIED_BY_DEFAULT

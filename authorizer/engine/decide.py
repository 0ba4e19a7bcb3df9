"""Defines a decision, and decides a request by the ACLs whose patterns match the resource.

The rules are those of KIP-11 and KIP-290, as in Kafka's StandardAuthorizer. The first rule that
applies decides:

1. A DENY matches the request: denied.
2. An ALLOW matches the request: allowed.
3. No ACL's pattern matches the resource: the default rule (``allow.everyone.if.no.acl.found``).
4. Otherwise: denied.

As in Kafka, an unknown permission is treated as DENY.

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
from metalog.hosts.host_block import ClientAddress, client_address, host_block

SUPER_USER: Final = "SuperUser"
DEFAULT_ALLOW: Final = "DefaultAllow"
DEFAULT_DENY: Final = "DefaultDeny"
MATCHING_ACL: Final = "MatchingAcl"


class AuthorizationResult(Enum):
    """ALLOWED, which is true, or DENIED, which is false."""

    ALLOWED = "ALLOWED"
    DENIED = "DENIED"

    def __bool__(self) -> bool:
        return self is ALLOWED


ALLOWED: Final = AuthorizationResult.ALLOWED
DENIED: Final = AuthorizationResult.DENIED
ALLOW: Final = PermissionType.ALLOW


class Decision(NamedTuple):
    """A result, and Kafka's name of the rule that decided. ``acl`` is the deciding ACL, or None."""

    result: AuthorizationResult
    rule: str
    acl: Acl | None = None


ALLOWED_TO_SUPER_USER: Final = Decision(ALLOWED, SUPER_USER)
ALLOWED_BY_DEFAULT: Final = Decision(ALLOWED, DEFAULT_ALLOW)
DENIED_BY_DEFAULT: Final = Decision(DENIED, DEFAULT_DENY)


Masks = tuple[int, int]
"""The allowed operations and the denied operations. Bit N stands for ``Operation(N)``."""


SubjectParts = tuple[Collection[str], Collection[str], ClientAddress | None]
"""The fields of a ``Subject`` in a plain tuple, which Python makes in a third of the time."""


class Subject(NamedTuple):
    """One session's principals and hosts. An ACL matches if it names one of each.

    If ``address`` is not None, a CIDR block that contains the address matches, too.
    """

    principals: Collection[str]
    hosts: Collection[str]
    address: ClientAddress | None = None

    def matches(self, acl: Acl) -> bool:
        return acl.principal in self.principals and self.comes_from(acl.host)

    def comes_from(self, host: str) -> bool:
        """Whether an ACL's ``host`` matches the client."""
        if host in self.hosts:
            return True
        return self.address is not None and is_block_with(host, self.address)


def is_block_with(host: str, address: ClientAddress) -> bool:
    """Whether an ACL's ``host`` is a CIDR block that contains ``address``."""
    if "/" not in host:
        return False
    block = host_block(host)
    return block is not None and block.contains(address)


def subject(host: str, *principals: str, kafka: KafkaVersion) -> Subject:
    """``principals`` are ``Type:name``; ``kafka`` says how hosts match."""
    address = client_address(host) if kafka.matches_blocks else None
    with_wildcard = tuple(dict.fromkeys((WILDCARD_PRINCIPAL, *principals)))
    return Subject(with_wildcard, tuple(dict.fromkeys((WILDCARD, host))), address)


ALL_OPERATIONS: Final = (1 << len(Operation)) - 1


def _allowed_by(operation: Operation) -> int:
    if operation is Operation.ALL:
        return ALL_OPERATIONS
    implied = [allowed for allowed, granting in IMPLIED_BY.items() if operation in granting]
    return sum(1 << allowed for allowed in (operation, *implied))


def _denied_by(operation: Operation) -> int:
    return ALL_OPERATIONS if operation is Operation.ALL else 1 << operation


ALLOWS: Final = tuple(map(_allowed_by, Operation))
"""By the operation of an ALLOW: the operations that it allows, as bits."""
DENIES: Final = tuple(map(_denied_by, Operation))
"""By the operation of any other ACL: the operations that it denies, as bits."""


Verdicts = tuple[AuthorizationResult, ...]
"""A session's results on one name, by operation."""
VERDICTS: Final[dict[int, Verdicts]] = {}
"""For each set of allowed operations, as bits: one tuple, which all sessions share."""


def verdicts_of(allowed: int) -> Verdicts:
    verdicts = VERDICTS.get(allowed)
    if verdicts is None:
        listed = [ALLOWED if allowed >> operation & 1 else DENIED for operation in Operation]
        verdicts = VERDICTS[allowed] = tuple(listed)
    return verdicts


def concerns(acl: Acl, operation: Operation) -> bool:
    """Whether ``acl`` allows or denies ``operation`` to its principal."""
    masks = ALLOWS if acl.permission_type is ALLOW else DENIES
    return masks[acl.operation] >> operation & 1 == 1


def decision_order(acl: Acl, name: str) -> tuple[object, ...]:
    """A key that sorts the ACLs for the resource ``name`` in Kafka's order.

    First the name itself (LITERAL before PREFIXED), then its prefixes from long to short, then
    ``*``. Within a pattern: by operation, principal, host and permission.
    """
    is_wildcard = acl.pattern_type is PatternType.LITERAL and acl.resource_name != name
    return is_wildcard, -len(acl.resource_name), *order_in_pattern(acl)


def sorted_in_pattern(acls: Iterable[Acl]) -> tuple[Acl, ...]:
    """The ACLs of one pattern in Kafka's order. Python sorts ASCII texts as Java does."""
    listed = list(acls)
    texts = "".join([acl.principal + acl.host for acl in listed])
    return tuple(sorted(listed, key=_ASCII_ORDER if texts.isascii() else order_in_pattern))


_ASCII_ORDER: Final = itemgetter(2, 5, 3, 4, 6)
"""Gets the fields of ``order_in_pattern`` from an ``Acl``."""


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
    """Decide by ``candidates``, which must be sorted by ``decision_order``.

    The first matching DENY decides, else the last matching ALLOW.
    """
    has_candidate = False
    allow: Acl | None = None
    for acl in candidates:
        has_candidate = True
        if concerns(acl, operation) and who.matches(acl):
            if acl.permission_type is not ALLOW:
                return Decision(DENIED, MATCHING_ACL, acl)
            allow = acl
    if allow is not None:
        return Decision(ALLOWED, MATCHING_ACL, allow)
    return ALLOWED_BY_DEFAULT if allow_everyone and not has_candidate else DENIED_BY_DEFAULT

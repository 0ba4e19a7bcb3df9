"""Kafka's ACLs as values: enums with Kafka's codes, one ACL, and the filters.

An ``Acl`` (Kafka's StandardAcl or AclBinding) has no id; the log gives each ACL an id.

Sources: KIP-11 (operations, permissions), KIP-290 (pattern types, filters),
Kafka 4.3 for the codes. This module must not know records, images or decisions.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

WILDCARD: Final = "*"
WILDCARD_PRINCIPAL: Final = "User:*"
CLUSTER_NAME: Final = "kafka-cluster"


class ResourceType(IntEnum):
    """Kafka's ResourceType. ANY is for filters only."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """Kafka's PatternType (KIP-290); ANY and MATCH are for filters only."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    """Kafka's AclOperation."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class PermissionType(IntEnum):
    """Kafka's AclPermissionType."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


IMPLIED_BY: Final[dict[Operation, frozenset[Operation]]] = {
    Operation.DESCRIBE: frozenset(
        {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
    ),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.ALTER_CONFIGS}),
}
"""Operation X -> the operations, besides ALL, whose ALLOW also grants X. A DENY of these operations
does not deny X."""


SUPPORTED_OPERATIONS: Final[dict[ResourceType, frozenset[Operation]]] = {
    ResourceType.TOPIC: frozenset(
        {
            Operation.READ,
            Operation.WRITE,
            Operation.CREATE,
            Operation.DELETE,
            Operation.ALTER,
            Operation.DESCRIBE,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        }
    ),
    ResourceType.GROUP: frozenset(
        {
            Operation.READ,
            Operation.DELETE,
            Operation.DESCRIBE,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        }
    ),
    ResourceType.CLUSTER: frozenset(
        {
            Operation.CREATE,
            Operation.ALTER,
            Operation.DESCRIBE,
            Operation.CLUSTER_ACTION,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
            Operation.IDEMPOTENT_WRITE,
        }
    ),
    ResourceType.TRANSACTIONAL_ID: frozenset(
        {Operation.DESCRIBE, Operation.WRITE, Operation.TWO_PHASE_COMMIT}
    ),
    ResourceType.DELEGATION_TOKEN: frozenset({Operation.DESCRIBE}),
    ResourceType.USER: frozenset({Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS}),
}
"""Resource type -> the operations that Kafka checks (``AclEntry.supportedOperations``, 4.3)."""


class Acl(NamedTuple):
    """One access control entry on one resource pattern.

    ``principal`` is ``Type:name``. ``host`` is ``*``, an address as Java writes it, or, with Kafka
    4.4 or later, a CIDR block.
    """

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: Operation
    permission_type: PermissionType


def is_wildcard(acl: Acl) -> bool:
    """Whether ``acl`` is on LITERAL ``*``."""
    return acl.pattern_type is PatternType.LITERAL and acl.resource_name == WILDCARD


def matches_several_names(acl: Acl) -> bool:
    """Whether ``acl`` has a prefix or the wildcard name."""
    return acl.pattern_type is not PatternType.LITERAL or acl.resource_name == WILDCARD


def acl_problem(acl: Acl) -> str | None:
    """The message with which Kafka's controller refuses ``acl``, or None.

    This function checks neither the sizes of the encoded texts nor Kafka 4.4's rules for hosts.
    """
    problem = None
    if acl.resource_type is ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        problem = f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    elif not acl.resource_name:
        problem = "Invalid empty resource name"
    elif acl.resource_type in (ResourceType.UNKNOWN, ResourceType.ANY):
        problem = f"Invalid resourceType {acl.resource_type.name}"
    elif acl.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        problem = f"Invalid patternType {acl.pattern_type.name}"
    elif acl.operation in (Operation.UNKNOWN, Operation.ANY):
        problem = f"Invalid operation {acl.operation.name}"
    elif acl.permission_type not in (PermissionType.DENY, PermissionType.ALLOW):
        problem = f"Invalid permissionType {acl.permission_type.name}"
    elif ":" not in acl.principal:
        problem = (
            f"Could not parse principal from `{acl.principal}` "
            "(no colon is present separating the principal type from the principal name)"
        )
    return problem


def camel(member: IntEnum) -> str:
    """A member's name as Kafka's audit log writes an operation: ``DescribeConfigs``."""
    return "".join(part.capitalize() for part in member.name.split("_"))


def words_of(acl: Acl) -> tuple[str, str, str, str, str, str, str]:
    """The fields of ``acl`` in order, as texts; an enum member as its name."""
    return (
        acl.resource_type.name,
        acl.resource_name,
        acl.pattern_type.name,
        acl.principal,
        acl.host,
        acl.operation.name,
        acl.permission_type.name,
    )


ACL_KEYS: Final = (
    "resourceType",
    "resourceName",
    "patternType",
    "principal",
    "host",
    "operation",
    "permissionType",
)
"""The fields of an ACL in JSON, in order."""


def acl_fields(acl: Acl) -> dict[str, str]:
    """``acl`` as a mapping from ``ACL_KEYS`` to texts."""
    return dict(zip(ACL_KEYS, words_of(acl), strict=True))


class ResourcePatternFilter(NamedTuple):
    """Selects resource patterns to list or delete (KIP-290); a name of None matches every name."""

    resource_type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY

    def matches(self, acl: Acl) -> bool:
        """Whether the filter selects the resource pattern of ``acl``."""
        if self.resource_type not in (ResourceType.ANY, acl.resource_type):
            return False
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
            return False
        if self.name is None or self.name == acl.resource_name:
            return True
        return self.pattern_type is PatternType.MATCH and _reaches(acl, self.name)


def _reaches(acl: Acl, name: str) -> bool:
    if acl.pattern_type is PatternType.LITERAL:
        return acl.resource_name == WILDCARD
    return acl.pattern_type is PatternType.PREFIXED and name.startswith(acl.resource_name)


class AccessControlEntryFilter(NamedTuple):
    """Selects entries to list or delete; a principal or host of None matches any."""

    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission_type: PermissionType = PermissionType.ANY

    def matches(self, acl: Acl) -> bool:
        """Whether the filter selects the principal, host, operation and permission of ``acl``."""
        return (
            (self.principal is None or self.principal == acl.principal)
            and (self.host is None or self.host == acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission_type in (PermissionType.ANY, acl.permission_type)
        )


class AclFilter(NamedTuple):
    """Kafka's AclBindingFilter: a pattern filter and an entry filter that must both match."""

    pattern: ResourcePatternFilter = ResourcePatternFilter()
    entry: AccessControlEntryFilter = AccessControlEntryFilter()

    def matches(self, acl: Acl) -> bool:
        """Whether both filters match ``acl``."""
        return self.pattern.matches(acl) and self.entry.matches(acl)

    @classmethod
    def exactly(cls, acl: Acl) -> AclFilter:
        """The filter that matches only ``acl``."""
        return cls(ResourcePatternFilter(*acl[:3]), AccessControlEntryFilter(*acl[3:]))


ANY_ACL: Final = AclFilter()


def java_order(text: str) -> str:
    """A key that sorts texts as Java's ``String.compareTo`` does, by UTF-16 code unit.

    The order of Kafka's listings and decisions depends on this order.
    """
    if text.isascii() or max(text) <= "\uffff":
        return text
    return "".join(_utf16_units(character) for character in text)


def _utf16_units(character: str) -> str:
    code = ord(character)
    if code <= 0xFFFF:
        return character
    code -= 0x10000
    return chr(0xD800 | code >> 10) + chr(0xDC00 | code & 0x3FF)

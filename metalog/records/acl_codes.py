"""Converts ACL records (Kafka's codes) to ``metalog.acl.Acl`` (enums), and back.

As in Kafka, a code that Kafka 4.3 does not have becomes UNKNOWN. This module must not know the
byte layout of a record.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, TypeVar

from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.ids import Uuid
from metalog.records.messages.access_control_entry_record import AccessControlEntryRecord

E = TypeVar("E", bound=IntEnum)


def _by_code(members: type[E], unknown: E) -> list[E]:
    """A list of the enum's members by code. A negative code (an int8) counts from the end."""
    table = [unknown] * 256
    for member in members:
        table[member] = member
    return table


_RESOURCE_TYPES: Final = _by_code(ResourceType, ResourceType.UNKNOWN)
_PATTERN_TYPES: Final = _by_code(PatternType, PatternType.UNKNOWN)
_OPERATIONS: Final = _by_code(Operation, Operation.UNKNOWN)
_PERMISSION_TYPES: Final = _by_code(PermissionType, PermissionType.UNKNOWN)

ACL_RESOURCE_TYPES: Final = {int(each): each for each in ResourceType if each > ResourceType.ANY}
ACL_PATTERN_TYPES: Final = {int(each): each for each in PatternType if each > PatternType.MATCH}
ACL_OPERATIONS: Final = {int(each): each for each in Operation if each > Operation.ANY}
ACL_PERMISSION_TYPES: Final = {
    int(each): each for each in PermissionType if each > PermissionType.ANY
}
"""The enums' members that an AclBinding of Kafka 4.3 can have, by code."""


def resource_type_of(code: int) -> ResourceType:
    return _RESOURCE_TYPES[code]


def pattern_type_of(code: int) -> PatternType:
    return _PATTERN_TYPES[code]


def operation_of(code: int) -> Operation:
    return _OPERATIONS[code]


def permission_type_of(code: int) -> PermissionType:
    return _PERMISSION_TYPES[code]


def acl_of(record: AccessControlEntryRecord) -> Acl:
    return Acl(
        _RESOURCE_TYPES[record.resource_type],
        record.resource_name,
        _PATTERN_TYPES[record.pattern_type],
        record.principal,
        record.host,
        _OPERATIONS[record.operation],
        _PERMISSION_TYPES[record.permission_type],
    )


def record_of(id: Uuid, acl: Acl) -> AccessControlEntryRecord:
    resource_type, name, pattern_type, principal, host, operation, permission_type = acl
    fields = (
        id, int(resource_type), name, int(pattern_type), principal, host, int(operation),
        int(permission_type), (),
    )  # fmt: skip
    return tuple.__new__(AccessControlEntryRecord, fields)


def can_be_acl(record: AccessControlEntryRecord) -> bool:
    """Whether Kafka 4.3 can have an ACL with the codes of ``record``."""
    return (
        record.resource_type in ACL_RESOURCE_TYPES
        and record.pattern_type in ACL_PATTERN_TYPES
        and record.operation in ACL_OPERATIONS
        and record.permission_type in ACL_PERMISSION_TYPES
    )

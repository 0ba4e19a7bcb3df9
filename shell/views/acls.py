"""How an ACL looks: its JSON keys, its cells in a line, and in a sentence.

This module must not know where ACLs come from or what they decide.
"""

from __future__ import annotations

from typing import Final

from metalog.acl import (
    ACL_KEYS,
    Acl,
    PatternType,
    PermissionType,
    ResourceType,
    java_order,
    words_of,
)
from shell.output.output import Cell
from shell.output.safe import shown

KEYS: Final = ("id", *ACL_KEYS)


def values(id_text: str, acl: Acl) -> tuple[str, ...]:
    """The values of ``KEYS``."""
    return (id_text, *words_of(acl))


def permission_cell(permission_type: PermissionType) -> Cell:
    return Cell(permission_type.name, "bad" if permission_type is PermissionType.DENY else "good")


def cells(acl: Acl) -> list[Cell | str]:
    """The ACL in columns: what it is on, then what it says."""
    return [
        acl.resource_type.name,
        Cell(shown(acl.resource_name), "strong"),
        acl.pattern_type.name,
        permission_cell(acl.permission_type),
        acl.operation.name,
        shown(acl.principal),
        shown(acl.host),
    ]


def sentence(acl: Acl) -> str:
    """The ACL in words, one line."""
    kind = resource_kind(acl.resource_type)
    pattern = "names that begin with " if acl.pattern_type is PatternType.PREFIXED else ""
    return (
        f"{acl.permission_type.name} {shown(acl.principal)} {acl.operation.name} "
        f"on {kind} {pattern}{shown(acl.resource_name)} from {host_said(acl.host)}"
    )


def resource_kind(resource_type: ResourceType) -> str:
    """``transactional id``: the resource type as a word in a sentence."""
    return resource_type.name.lower().replace("_", " ")


def host_said(host: str) -> str:
    return "any host" if host == "*" else shown(host)


def listing_order(acl: Acl) -> tuple[object, ...]:
    """By resource, as a person looks for them; then deny first, by principal."""
    return (
        acl.resource_type,
        java_order(acl.resource_name),
        acl.pattern_type,
        acl.permission_type,
        java_order(acl.principal),
        acl.operation,
        java_order(acl.host),
    )

"""Formats an ACL: as JSON fields, and as cells of a row.

This module must not know where ACLs come from or what they decide.
"""

from __future__ import annotations

from metalog.acl import Acl, PermissionType, acl_fields, java_order
from metalog.text.visible_text import shown
from shell.output.output import Cell


def fields_with_id(id_text: str, acl: Acl) -> dict[str, str]:
    return {"id": id_text, **acl_fields(acl)}


def permission_cell(permission_type: PermissionType) -> Cell:
    return Cell(permission_type.name, "bad" if permission_type is PermissionType.DENY else "good")


def cells(acl: Acl) -> list[Cell | str]:
    return [
        acl.resource_type.name,
        Cell(shown(acl.resource_name), "strong"),
        acl.pattern_type.name,
        permission_cell(acl.permission_type),
        acl.operation.name,
        shown(acl.principal),
        shown(acl.host),
    ]


def listing_order(acl: Acl) -> tuple[object, ...]:
    """Sorts by resource, then DENY before ALLOW, then by principal."""
    return (
        acl.resource_type,
        java_order(acl.resource_name),
        acl.pattern_type,
        acl.permission_type,
        java_order(acl.principal),
        acl.operation,
        java_order(acl.host),
    )

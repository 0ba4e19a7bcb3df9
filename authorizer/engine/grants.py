"""Finds the patterns of ALLOWs by resource type, principal, host and operation (KIP-679).

This module must not know which names a pattern matches.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from authorizer.engine.decide import ALLOW
from metalog.acl import Acl, Operation, PatternType, ResourceType
from metalog.image.table import Table

Grant = tuple[ResourceType, PatternType, str, str, Operation]
"""The resource type, pattern type, principal, host and operation of an ALLOW."""
Names = Table[str, bool]
Grants = Table[Grant, Names]
"""For each ``Grant``, the resource names in its ALLOWs."""
NO_NAMES: Final[Names] = Table()


def grants_of(acls: Iterable[Acl]) -> Grants:
    found: dict[Grant, dict[str, bool | None]] = {}
    for acl in acls:
        if acl.permission_type is ALLOW:
            found.setdefault(_grant(acl), {})[acl.resource_name] = True
    return Table((grant, NO_NAMES.changed(names)) for grant, names in found.items())


def _grant(acl: Acl) -> Grant:
    return acl.resource_type, acl.pattern_type, acl.principal, acl.host, acl.operation


def grants_changed(grants: Grants, acl: Acl, is_added: bool) -> Grants:
    if acl.permission_type is not ALLOW:
        return grants
    grant = _grant(acl)
    before = grants.get(grant, NO_NAMES)
    names = before.changed({acl.resource_name: True if is_added else None})
    return grants.changed({grant: names or None})

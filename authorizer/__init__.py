"""Decisions: who may do what, answered from the ACLs of a replayed log, with the reason.

Names are loaded when first used, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from authorizer.api import (
        Action,
        RequestContext,
        ResourcePattern,
        cluster,
        delegation_token,
        group,
        topic,
        transactional_id,
        user,
    )
    from authorizer.config import AuthorizerConfig
    from authorizer.decide import AuthorizationResult, Decision
    from authorizer.interface import AuthorizationResults, Authorizer
    from authorizer.requests import actions, are_allowed
    from authorizer.standard import StandardAuthorizer
    from metalog.acl import (
        AccessControlEntryFilter,
        Acl,
        AclFilter,
        Operation,
        PatternType,
        PermissionType,
        ResourcePatternFilter,
        ResourceType,
    )

__all__ = [
    "AccessControlEntryFilter",
    "Acl",
    "AclFilter",
    "Action",
    "AuthorizationResult",
    "AuthorizationResults",
    "Authorizer",
    "AuthorizerConfig",
    "Decision",
    "Operation",
    "PatternType",
    "PermissionType",
    "RequestContext",
    "ResourcePattern",
    "ResourcePatternFilter",
    "ResourceType",
    "StandardAuthorizer",
    "actions",
    "are_allowed",
    "cluster",
    "delegation_token",
    "group",
    "topic",
    "transactional_id",
    "user",
]

_HOMES = {
    "Authorizer": "authorizer.interface",
    "AuthorizationResults": "authorizer.interface",
    "AuthorizationResult": "authorizer.decide",
    "AuthorizerConfig": "authorizer.config",
    "Decision": "authorizer.decide",
    "StandardAuthorizer": "authorizer.standard",
    "actions": "authorizer.requests",
    "are_allowed": "authorizer.requests",
    **dict.fromkeys(
        (
            "AccessControlEntryFilter",
            "Acl",
            "AclFilter",
            "Operation",
            "PatternType",
            "PermissionType",
            "ResourcePatternFilter",
            "ResourceType",
        ),
        "metalog.acl",
    ),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "authorizer.api")), name)
    globals()[name] = value
    return value

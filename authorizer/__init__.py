"""The authorizer: decides from ACLs who may do what, and gives the reason.

The names below are the package's public API (docs/reference/api.md).
"""

from typing import TYPE_CHECKING

from metalog.lazy import lazy_names

if TYPE_CHECKING:
    from authorizer.api import Action as Action
    from authorizer.api import RequestContext as RequestContext
    from authorizer.api import ResourcePattern as ResourcePattern
    from authorizer.api import cluster as cluster
    from authorizer.api import delegation_token as delegation_token
    from authorizer.api import group as group
    from authorizer.api import topic as topic
    from authorizer.api import transactional_id as transactional_id
    from authorizer.api import user as user
    from authorizer.config import AuthorizerConfig as AuthorizerConfig
    from authorizer.engine.decide import AuthorizationResult as AuthorizationResult
    from authorizer.engine.decide import Decision as Decision
    from authorizer.interface import AuthorizationResults as AuthorizationResults
    from authorizer.interface import Authorizer as Authorizer
    from authorizer.kafka_version import KafkaVersion as KafkaVersion
    from authorizer.loading import load_authorizer as load_authorizer
    from authorizer.permissions.requests import actions as actions
    from authorizer.permissions.requests import are_allowed as are_allowed
    from authorizer.standard import StandardAuthorizer as StandardAuthorizer
    from metalog.acl import AccessControlEntryFilter as AccessControlEntryFilter
    from metalog.acl import Acl as Acl
    from metalog.acl import AclFilter as AclFilter
    from metalog.acl import Operation as Operation
    from metalog.acl import PatternType as PatternType
    from metalog.acl import PermissionType as PermissionType
    from metalog.acl import ResourcePatternFilter as ResourcePatternFilter
    from metalog.acl import ResourceType as ResourceType

if not TYPE_CHECKING:
    __getattr__, __all__ = lazy_names(
        __name__,
        {
            "authorizer.api": "Action RequestContext ResourcePattern cluster delegation_token "
            "group topic transactional_id user",
            "authorizer.config": "AuthorizerConfig",
            "authorizer.kafka_version": "KafkaVersion",
            "authorizer.engine.decide": "AuthorizationResult Decision",
            "authorizer.interface": "AuthorizationResults Authorizer",
            "authorizer.loading": "load_authorizer",
            "authorizer.permissions.requests": "actions are_allowed",
            "authorizer.standard": "StandardAuthorizer",
            "metalog.acl": "AccessControlEntryFilter Acl AclFilter Operation PatternType "
            "PermissionType ResourcePatternFilter ResourceType",
        },
    )

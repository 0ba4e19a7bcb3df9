"""KIP-11's authorizer, with the ACLs of the metadata log.

``import authorizer`` does not load this package.
"""

from authorizer.compat.kip11.interface import Authorizer
from authorizer.compat.kip11.model import (
    ANONYMOUS,
    Acl,
    AuthorizationException,
    Resource,
    Session,
    anonymous,
)
from authorizer.compat.kip11.simple import SimpleAclAuthorizer
from metalog.acl import Operation, PatternType, PermissionType, ResourceType
from metalog.errors import ConfigException
from metalog.principal import KafkaPrincipal

__all__ = [
    "ANONYMOUS",
    "Acl",
    "AuthorizationException",
    "Authorizer",
    "ConfigException",
    "KafkaPrincipal",
    "Operation",
    "PatternType",
    "PermissionType",
    "Resource",
    "ResourceType",
    "Session",
    "SimpleAclAuthorizer",
    "anonymous",
]

"""KIP-504's Authorizer interface, for implementers, and the type of its results.

This module must not know how a decision is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import NoReturn

from authorizer.api import Action, RequestContext
from authorizer.engine.decide import AuthorizationResult
from metalog.acl import ANY_ACL, Acl, AclFilter, Operation, ResourceType


class AuthorizationResults(tuple[AuthorizationResult, ...]):
    """The results in order of actions. ``bool()`` raises, because ``[DENIED]`` would be true."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "authorize() returns a result for each action; "
            "look at each result, use all(…), or call is_allowed()"
        )


class Authorizer:
    """The authorizer that a broker calls (KIP-504, KIP-801); it must be thread-safe.

    An authorizer with ``publish`` (``metalog.ports.Publisher``) receives each image of the log. An
    authorizer without ``publish`` decides from its own data.
    """

    def configure(self, configs: Mapping[str, object]) -> None:
        """Read ``configs``, the node's configuration. The node calls this method first, and once.

        Raises ``ConfigException`` if a value is invalid.
        """
        raise NotImplementedError

    def start(self, server_info: Mapping[str, str]) -> dict[str, Future[None]]:
        """For each listener in ``server_info`` (name -> address): a future that is done when the
        listener may open."""
        raise NotImplementedError

    def authorize(self, context: RequestContext, actions: Sequence[Action]) -> AuthorizationResults:
        """The result of each of ``actions``, in order."""
        raise NotImplementedError

    def authorize_by_resource_type(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType
    ) -> AuthorizationResult:
        """Whether ``operation`` is allowed on at least one resource of the type (KIP-679)."""
        raise NotImplementedError

    def acls(self, acl_filter: AclFilter = ANY_ACL) -> Sequence[Acl]:
        """The ACLs that ``acl_filter`` matches; by default all ACLs."""
        raise NotImplementedError

    def acl_count(self) -> int:
        """The number of ACL ids; -1 if the authorizer does not know it (KIP-801)."""
        return -1

    def is_super_user(self, principal: str) -> bool:
        """Whether the principal ``Type:name`` is a super user (KIP-506)."""
        return False

    def close(self) -> None:
        """Release files, threads and connections. The node calls this method last, and once."""
        raise NotImplementedError

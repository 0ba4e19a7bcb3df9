"""KIP-504's Authorizer interface, for implementers, and its result types.

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
    """A result for each action, in order. It has no truth: ``[DENIED]`` would be true."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "authorize() returns a result for each action; "
            "look at each of them, use all(…), or call is_allowed()"
        )


class Authorizer:
    """What a broker asks of an authorizer (KIP-504, KIP-801); thread-safe where it answers.

    One that has ``publish``, as ``metalog.ports.Publisher`` has it, is given each image of the log;
    one that has not decides by what it knows itself.
    """

    def configure(self, configs: Mapping[str, object]) -> None:
        """Read the node's configuration; called once, before anything else.

        Args:
            configs: all keys of the configuration, by Kafka's names.

        Raises:
            ConfigException: a value cannot be used.
        """
        raise NotImplementedError

    def start(self, server_info: Mapping[str, str]) -> dict[str, Future[None]]:
        """A future per endpoint of ``server_info`` (listener name -> address): done once the
        listener may be opened."""
        raise NotImplementedError

    def authorize(self, context: RequestContext, actions: Sequence[Action]) -> AuthorizationResults:
        """Decide about each of ``actions``.

        Args:
            context: the principal and the host of the request.
            actions: what is asked, one operation on one resource each.

        Returns:
            A result for each action, in order.
        """
        raise NotImplementedError

    def authorize_by_resource_type(
        self, context: RequestContext, operation: Operation, resource_type: ResourceType
    ) -> AuthorizationResult:
        """Whether ``operation`` is allowed on at least one resource of the type (KIP-679)."""
        raise NotImplementedError

    def acls(self, acl_filter: AclFilter = ANY_ACL) -> Sequence[Acl]:
        """The ACLs that ``acl_filter`` matches; all of them by default."""
        raise NotImplementedError

    def acl_count(self) -> int:
        """How many ACL ids there are; -1 where an authorizer cannot say (KIP-801)."""
        return -1

    def is_super_user(self, principal: str) -> bool:
        """Whether ``Type:name`` may do anything, whatever the ACLs; KIP-506 asks for it."""
        return False

    def close(self) -> None:
        """Let go of all resources; called once, at the end."""
        raise NotImplementedError

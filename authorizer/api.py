"""The arguments of ``authorize`` (KIP-504): the actions and the request's context.

The objects have slots, which cost less per request than NamedTuples
(docs/decisions/0013-cached-look-ups.md). Only mypy refuses assignments to their fields.

This module must not know how a decision is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final

from metalog.acl import CLUSTER_NAME, Operation, PatternType, ResourceType
from metalog.errors import InvalidRequest
from metalog.hosts.client_host import client_host, peer_host
from metalog.principal import KafkaPrincipal


class _Value:
    """An object compared by value. ``_fields`` names the arguments of ``__init__``."""

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self._fields])

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        pairs = zip(self._fields, self._values(), strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in pairs)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._values()


class ResourcePattern(_Value):
    """``org.apache.kafka.common.resource.ResourcePattern``. An action's resource is LITERAL."""

    _fields = ("resource_type", "name", "pattern_type")
    __slots__ = _fields

    def __init__(
        self,
        resource_type: ResourceType,
        name: str,
        pattern_type: PatternType = PatternType.LITERAL,
    ) -> None:
        self.resource_type: Final = resource_type
        self.name: Final = name
        self.pattern_type: Final = pattern_type


def topic(name: str) -> ResourcePattern:
    """The topic ``name``, as a resource."""
    return ResourcePattern(ResourceType.TOPIC, name)


def group(name: str) -> ResourcePattern:
    """The consumer group ``name``, as a resource."""
    return ResourcePattern(ResourceType.GROUP, name)


def cluster() -> ResourcePattern:
    """The cluster, as a resource."""
    return ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)


def transactional_id(name: str) -> ResourcePattern:
    """The transactional id ``name``, as a resource."""
    return ResourcePattern(ResourceType.TRANSACTIONAL_ID, name)


def delegation_token(name: str) -> ResourcePattern:
    """The delegation token ``name``, as a resource."""
    return ResourcePattern(ResourceType.DELEGATION_TOKEN, name)


def user(name: str) -> ResourcePattern:
    """The user ``name`` (``User:alice``), as a resource."""
    return ResourcePattern(ResourceType.USER, name)


class Action(_Value):
    """One operation on one resource, to be authorized.

    The audit line has the level TRACE if the action is allowed and ``log_if_allowed`` is False, or
    denied and ``log_if_denied`` is False. Callers that only filter a list use this.
    """

    _fields = (
        "operation",
        "resource",
        "resource_reference_count",
        "log_if_allowed",
        "log_if_denied",
    )
    __slots__ = _fields

    def __init__(
        self,
        operation: Operation,
        resource: ResourcePattern,
        resource_reference_count: int = 1,
        log_if_allowed: bool = True,
        log_if_denied: bool = True,
    ) -> None:
        self.operation: Final = operation
        self.resource: Final = resource
        self.resource_reference_count: Final = resource_reference_count
        self.log_if_allowed: Final = log_if_allowed
        self.log_if_denied: Final = log_if_denied


class RequestContext(_Value):
    """The client that sent a request.

    ``principal`` is ``Type:name``. ``host`` is the client's address as Java writes it
    (``metalog.hosts.client_host``). ACLs also match ``additional_principals`` (``Group:…``);
    Kafka has none. They never make the client a super user. A decision depends only on
    ``identity``: the host and all principals.
    """

    _fields = ("principal", "host", "listener", "request_name", "additional_principals")
    __slots__ = (*_fields, "identity")

    def __init__(
        self,
        principal: str | KafkaPrincipal,
        host: str,
        listener: str = "",
        request_name: str = "",
        additional_principals: Iterable[str] = (),
    ) -> None:
        if isinstance(additional_principals, str):
            raise InvalidRequest(
                f"additional_principals: give a list of them, as [{additional_principals!r}]"
            )
        self.principal: Final = str(principal)
        if ":" in host:  # the call is slower than this check, and most hosts are IPv4
            host = client_host(host)
        self.host: Final = host
        self.listener: Final = listener
        self.request_name: Final = request_name
        self.additional_principals: Final = tuple(additional_principals)
        self.identity: Final = (host, self.principal, *self.additional_principals)

    @classmethod
    def from_peer(
        cls,
        principal: str | KafkaPrincipal,
        peer: Sequence[Any],
        listener: str = "",
        request_name: str = "",
        additional_principals: Iterable[str] = (),
    ) -> RequestContext:
        """The context for ``peer``, the tuple that a socket's ``getpeername()`` returns.

        Raises:
            InvalidRequest: ``peer`` is not such a tuple. In asyncio ``peername`` is None if the
                client has disconnected, and a Unix socket has a path.
        """
        return cls(principal, peer_host(peer), listener, request_name, additional_principals)

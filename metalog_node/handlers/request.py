"""The common part of all handlers: the request in flight, answers, and permission checks.

A handler returns a response or, for example if records must first become durable, a future. The
request's body is decoded at its first use. This module must not know any particular API.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from ipaddress import ip_address
from typing import Any, Final, NamedTuple

from kio.schema.errors import ErrorCode as KafkaErrorCode

from authorizer.api import Action, RequestContext, ResourcePattern, cluster, topic
from authorizer.engine.decide import ALLOWED
from authorizer.engine.index import AclIndex
from authorizer.interface import Authorizer
from metalog.acl import SUPPORTED_OPERATIONS, Operation
from metalog.controller.scram_password import ScramPasswordPolicy
from metalog.controller.scram_password_config import ScramPasswordConfig
from metalog.errors import ApiError, AuthorizerNotReady, ErrorCode, InvalidRequest, MetalogError
from metalog.hosts.host_port import Address
from metalog.principal import parse_principal
from metalog.replica.replica import Replica
from metalog.wire.frames import Malformed
from metalog.wire.messages import UnreadRequest, WireRequest
from metalog.wire.schema import Body
from metalog.wire.versions import VersionRange
from metalog_node.config.listeners import Listener
from metalog_node.forward import Forwarder
from metalog_node.publish.fetch_purgatory import FetchPurgatory
from metalog_node.publish.listing_cache import Listings

_log = logging.getLogger(__name__)

NO_THROTTLING: Final = timedelta()


class IncomingRequest(NamedTuple):
    """A Kafka request in flight, and the client that sent it.

    - ``payload``: the whole request as received.
    - ``context``: the connection's client, or the client named in an Envelope.
    - ``is_forwarded``: the request came in an Envelope. The forwarding node has already checked the
      request by its own configuration.
    """

    request: WireRequest | UnreadRequest
    payload: bytes
    context: RequestContext
    listener: Listener
    is_encrypted: bool
    is_forwarded: bool = False


class PasswordSetting(NamedTuple):
    """Configuration and policy for passwords (KIP-506), and the threads that salt passwords."""

    config: ScramPasswordConfig
    policy: ScramPasswordPolicy | None
    threads: ThreadPoolExecutor


class Services(NamedTuple):
    """The parts of a node that handlers use. ``authorizer`` is None without authorization.

    - ``addresses``: each listener's address for clients, by name.
    - ``forwarder`` is set if another node can be the controller.
    - ``purgatory`` is set if followers may fetch this node's log.
    - ``listings`` is set if long listings are cached.
    - ``acl_index`` is set if the authorizer decides by an index of ACLs.
    """

    node_id: int
    known_cluster_id: Callable[[], str]
    roles: frozenset[str]
    replica: Replica
    authorizer: Authorizer | None
    listeners: Sequence[Listener]
    addresses: Mapping[str, Address]
    passwords: PasswordSetting
    forwarder: Forwarder | None = None
    purgatory: FetchPurgatory | None = None
    listings: Listings | None = None
    acl_index: Callable[[], AclIndex] | None = None
    configured_kafka: str | None = None

    @property
    def kafka(self) -> str:
        """The Kafka version to imitate: the configured version, else the most likely version for
        the log's metadata.version."""
        return self.configured_kafka or self.replica.image.features.assumed_kafka

    @property
    def cluster_id(self) -> str:
        """The cluster's id; empty until it is known."""
        return self.known_cluster_id()


class EncodedResponse(NamedTuple):
    """A whole response of this node. ``outcome`` is the name of its first error.

    An answer of plain ``bytes`` is another node's response.
    """

    payload: bytes
    outcome: str


class DeferredResponse:
    """A response that ``make(answered)`` makes when ``answered`` is done.

    The first call of ``result`` or ``exception`` runs ``make``, which may block the thread.
    """

    __slots__ = ("_error", "_is_made", "_made", "_make", "future")

    def __init__(
        self, answered: Future[Any] | DeferredResponse, make: Callable[[Any], Any]
    ) -> None:
        self.future: Future[Any] = answered if isinstance(answered, Future) else answered.future
        self._make: Callable[[], Any] = partial(make, answered)
        self._is_made = False
        self._made: Any = None
        self._error: Exception | None = None

    def result(self, timeout: float | None = None) -> Any:
        error = self.exception(timeout)
        if error is not None:
            raise error
        return self._made

    def exception(self, timeout: float | None = None) -> Exception | None:
        self.future.exception(timeout)
        if not self._is_made:
            self._is_made = True
            try:
                self._made = self._make()
            except Exception as error:
                self._error = error
        return self._error


Answer = Body | EncodedResponse | Future[Any] | DeferredResponse
Handle = Callable[[Services, IncomingRequest], Answer]
Refuse = Callable[[IncomingRequest, ApiError], Body]


MOST_ELEMENTS: Final = 25_000
"""More than twice as many items as Kafka's controller accepts in one change."""
MOST_BYTES: Final = 16 << 20
"""Twice the size of the largest batch of records that a change can become."""
MOST_BYTES_ON_LOOP: Final = 128
"""A request of at most this many bytes takes at most a few milliseconds, whatever it contains."""


class HandledApi(NamedTuple):
    """An API that a node answers, and its handler.

    - ``name``: the request's name in Kafka's audit lines.
    - ``refuse`` makes the response with an error if ``handle`` fails.
    - ``not_ready``: the error while the authorizer is not ready. Kafka has no code for this state,
      so ``not_ready`` is a code after which the API's clients try again.
    - ``most_bytes``, ``most_elements`` (array items and tagged fields): a larger request closes
      the connection.
    - ``most_bytes_on_loop``: a thread handles larger requests. None means ``MOST_BYTES_ON_LOOP`` in
      a node's own API, and no limit in an embedding program's API.
    - ``is_silent``: whether the client expects no response (Produce with acks=0). The node then
      sends none, and closes the connection after an error, as Kafka does.
    - ``since``: the first supported Kafka version that has the API.
    """

    name: str
    versions: VersionRange
    handle: Handle
    refuse: Refuse
    not_ready: ErrorCode = ErrorCode.REQUEST_TIMED_OUT
    most_elements: int = MOST_ELEMENTS
    most_bytes: int = MOST_BYTES
    most_bytes_on_loop: int | None = None
    is_silent: Callable[[IncomingRequest], bool] | None = None
    since: str = "4.3"


SMALL_REQUESTS: Final[Mapping[str, Any]] = {"most_elements": 100, "most_bytes": 256 << 10}
"""Bounds of an API whose requests are about one object or a few objects."""


class ClusterAuthorizationFailed(InvalidRequest):
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


class SecurityDisabled(InvalidRequest):
    """The node has no authorizer, so there are no ACLs."""

    code = ErrorCode.SECURITY_DISABLED


def authorize_cluster(services: Services, incoming: IncomingRequest, operation: Operation) -> None:
    """Raise ``ClusterAuthorizationFailed`` if the client may not do ``operation`` on the cluster,
    ``AuthorizerNotReady`` if the authorizer cannot decide."""
    if services.authorizer is None:
        return
    [result] = services.authorizer.authorize(incoming.context, [Action(operation, cluster())])
    if result is not ALLOWED:
        raise ClusterAuthorizationFailed(f"{operation.name} on the cluster is not allowed")


def authorize_listing(services: Services, incoming: IncomingRequest) -> None:
    """Like ``authorize_cluster`` for DESCRIBE. Before the log is loaded, also raise
    ``AuthorizerNotReady`` for super users, because an empty list would be wrong."""
    authorize_cluster(services, incoming, Operation.DESCRIBE)
    if services.listings is not None and not services.listings.is_loaded:
        raise AuthorizerNotReady("the log is not loaded yet")


def allowed_topics(
    services: Services, incoming: IncomingRequest, operation: Operation, names: Iterable[str]
) -> Collection[str]:
    """The topics of ``names`` on which the client may do ``operation``.

    As in Kafka, one call authorizes all names, each with the number of its occurrences. Raises
    ``AuthorizerNotReady`` if the authorizer cannot decide.
    """
    counts = Counter(names)
    if services.authorizer is None or not counts:
        return counts
    actions = [Action(operation, topic(name), count) for name, count in counts.items()]
    results = services.authorizer.authorize(incoming.context, actions)
    return {name for name, result in zip(counts, results, strict=True) if result is ALLOWED}


def item_count(incoming: IncomingRequest, array: str) -> int:
    """The number of items in ``array``, the request's first field, without decoding the items."""
    request = incoming.request
    if isinstance(request, UnreadRequest):
        return request.count()
    return len(getattr(request.body, array))


def authorized_operations(
    services: Services, incoming: IncomingRequest, resource: ResourcePattern
) -> int:
    """The operations on ``resource`` that the client may do, as a bit field (KIP-430)."""
    supported = sorted(SUPPORTED_OPERATIONS[resource.resource_type])
    if services.authorizer is None:
        return sum(1 << operation for operation in supported)
    actions = [
        Action(operation, resource, log_if_allowed=False, log_if_denied=False)
        for operation in supported
    ]
    results = services.authorizer.authorize(incoming.context, actions)
    return sum(
        1 << operation
        for operation, result in zip(supported, results, strict=True)
        if result is ALLOWED
    )


def error_fields(error: ApiError) -> dict[str, Any]:
    """The error's code and message, as fields of Kafka's responses."""
    return {"error_code": KafkaErrorCode(error.code), "error_message": error.message}


def outcome_fields(error: ApiError) -> dict[str, Any]:
    """Like ``error_fields``, for responses in which Kafka's message without an error is empty, not
    null."""
    return error_fields(error if error else ApiError(message=""))


def api_error(error: BaseException) -> ApiError:
    """The error to send: the code and text of an ``InvalidRequest``, else UNKNOWN_SERVER_ERROR."""
    if isinstance(error, InvalidRequest):
        return ApiError(error.code, str(error))
    return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)


def answer(api: HandledApi, services: Services, incoming: IncomingRequest) -> Answer:
    """The response of ``api``. Raises ``Malformed``, which closes the connection."""
    try:
        answered = api.handle(services, incoming)
    except Malformed:
        raise
    except Exception as error:
        return refused_by(api, incoming, error)
    if not isinstance(answered, (Future, DeferredResponse)):
        return answered
    return DeferredResponse(answered, lambda done: result_or_refusal(api, incoming, done))


def result_or_refusal(
    api: HandledApi, incoming: IncomingRequest, done: Future[Any] | DeferredResponse
) -> Body:
    error = done.exception()
    if isinstance(error, Malformed):
        raise error
    return done.result() if error is None else refused_by(api, incoming, error)


def refused_by(api: HandledApi, incoming: IncomingRequest, error: BaseException) -> Body:
    """The response of ``api`` with ``error``; an unexpected error is logged."""
    if not isinstance(error, MetalogError):
        _log.error("%s failed", api.name, exc_info=error)
    outcome = api_error(error)
    if outcome.code is ErrorCode.AUTHORIZER_NOT_READY:
        outcome = ApiError(api.not_ready, outcome.message)
    return api.refuse(incoming, outcome)


def forwarded_for(incoming: IncomingRequest, forwarder: Forwarder, request: bytes) -> Future[bytes]:
    """Forward ``request`` for the client of ``incoming``; return the controller's response."""
    return forwarder.forward(
        request,
        parse_principal(incoming.context.principal),
        ip_address(incoming.context.host).packed,
    )

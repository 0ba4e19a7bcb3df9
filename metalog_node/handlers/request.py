"""The common part of all handlers: the request in flight, answers, and permission checks.

A handler is a function of ``Services`` and an ``IncomingRequest``. It returns a body, or a future
of one where something must become durable first. If it or its future raises, the API's
``refuse`` makes the response that carries the error.

A handler asks for permission before it touches the request's body, which is read only then. It
runs on the event loop if the request is short, and otherwise on a thread. What is left to do
once its future is done never runs on the thread that completed it (``DeferredResponse``). This
module must not know any one API.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from ipaddress import ip_address
from typing import Any, Final, NamedTuple

from kio.schema.errors import ErrorCode as KafkaErrorCode

from authorizer.api import Action, RequestContext, cluster, topic
from authorizer.engine.decide import ALLOWED
from authorizer.interface import Authorizer
from metalog.acl import Operation
from metalog.controller.scram_password import ScramPasswordPolicy
from metalog.controller.scram_password_config import ScramPasswordConfig
from metalog.errors import (
    ApiError,
    ErrorCode,
    InvalidRequest,
    MetalogError,
)
from metalog.principal import parse_principal
from metalog.replica.replica import Replica
from metalog.wire.frames import Malformed
from metalog.wire.hosts import Address
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
    """A request on its way through a node, and who asks.

    ``context`` is the connection's client, or the one for whom an Envelope speaks. ``payload``
    is the whole request as it came; an ``UnreadRequest`` is read when its body is first asked
    for; ``is_forwarded`` where an Envelope brought it, from a node that has judged it by its
    own configuration.
    """

    request: WireRequest | UnreadRequest
    payload: bytes
    context: RequestContext
    listener: Listener
    is_encrypted: bool
    is_forwarded: bool = False


class PasswordSetting(NamedTuple):
    """How passwords that come to the node are judged (KIP-506), and where they are salted."""

    config: ScramPasswordConfig
    policy: ScramPasswordPolicy | None
    threads: ThreadPoolExecutor


class Services(NamedTuple):
    """What a node has to answer from. ``authorizer`` is None where nothing is authorized.

    ``addresses`` are where clients find each listener. ``forwarder`` is there where another
    node is the controller, ``feed`` where this node's own log can be followed, ``listings``
    where long answers are kept. ``configured_kafka`` is the version whose answers are given,
    where the configuration has it.
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
    feed: FetchPurgatory | None = None
    listings: Listings | None = None
    configured_kafka: str | None = None

    @property
    def kafka(self) -> str:
        """The version of Kafka whose answers this node gives: as configured, or the one that its
        log's metadata.version makes likely."""
        return self.configured_kafka or self.replica.image.features.assumed_kafka

    @property
    def cluster_id(self) -> str:
        """Empty as long as nobody has told it."""
        return self.known_cluster_id()


class EncodedResponse(NamedTuple):
    """A whole response as bytes, and the name of its first error: a node's own answer, where
    bytes alone are another node's."""

    payload: bytes
    outcome: str


class DeferredResponse:
    """What ``make`` makes of ``future`` once it is done: for whoever waits to carry out, on a
    thread of his own choice, so that neither the log's writer nor the event loop is held by it.

    ``result`` and ``exception`` are as a future's; ``make`` is called once.
    """

    __slots__ = ("_error", "_is_made", "_made", "_make", "future")

    def __init__(
        self, answered: Future[Any] | DeferredResponse, make: Callable[[Any], Any]
    ) -> None:
        before = answered if isinstance(answered, DeferredResponse) else None
        self.future: Future[Any] = answered if isinstance(answered, Future) else answered.future
        self._make: Callable[[], Any] = lambda: make(before or self.future)
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
"""A body, or a whole response already; or a future of either."""
Handle = Callable[[Services, IncomingRequest], Answer]
Refuse = Callable[[IncomingRequest, ApiError], Body]


MOST_ELEMENTS: Final = 25_000
"""More than twice as many as Kafka's controller changes at once."""
MOST_BYTES: Final = 16 << 20
"""Twice the largest batch of records that a change may become."""
SHORT: Final = 128
"""Bytes of a request that is answered in a few milliseconds, whatever is in it: as many clients as
there are may each have one answered before the event loop comes round."""


class HandledApi(NamedTuple):
    """One kind of request that a node answers, and how it does.

    ``name`` is the request's in Kafka's audit lines. ``handle`` answers it; ``refuse`` makes the
    answer that tells an error.
    Kafka never numbered AUTHORIZER_NOT_READY: ``not_ready`` is the nearest error after which the
    API's own clients try again. A request of more than ``most_bytes``, or with more elements
    (items of arrays, tagged fields) than ``most_elements``, ends the connection. One of more than
    ``short`` bytes is handled on a thread; None for a handler that belongs to the event loop.
    ``since`` is the first Kafka that has it, of those whose answers a node gives.
    """

    name: str
    versions: VersionRange
    handle: Handle
    refuse: Refuse
    not_ready: ErrorCode = ErrorCode.REQUEST_TIMED_OUT
    most_elements: int = MOST_ELEMENTS
    most_bytes: int = MOST_BYTES
    short: int | None = None
    since: str = "4.3"


OF_ONE_THING: Final[Mapping[str, Any]] = {"most_elements": 100, "most_bytes": 256 << 10}
"""Bounds of an API whose requests are about one thing, or a few."""


class ClusterAuthorizationFailed(InvalidRequest):
    """The asker may not do this to the cluster."""

    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


class SecurityDisabled(InvalidRequest):
    """There are no ACLs where nothing is authorized."""

    code = ErrorCode.SECURITY_DISABLED


def ask(services: Services, question: IncomingRequest, operation: Operation) -> None:
    """``ClusterAuthorizationFailed`` unless the asker may do ``operation`` on the cluster;
    ``AuthorizerNotReady`` where nobody can say yet."""
    if services.authorizer is None:
        return
    [result] = services.authorizer.authorize(question.context, [Action(operation, cluster())])
    if result is not ALLOWED:
        raise ClusterAuthorizationFailed(f"{operation.name} on the cluster is not allowed")


def allowed_topics(
    services: Services, question: IncomingRequest, operation: Operation, names: Iterable[str]
) -> Collection[str]:
    """Those of ``names`` that the asker may do ``operation`` to, authorized in one call: each
    name once, with the count of its references, as Kafka does it.

    ``AuthorizerNotReady`` where nobody can say yet.
    """
    counts = Counter(names)
    if services.authorizer is None or not counts:
        return counts
    asked = [Action(operation, topic(name), count) for name, count in counts.items()]
    results = services.authorizer.authorize(question.context, asked)
    return {name for name, result in zip(counts, results, strict=True) if result is ALLOWED}


def item_count(question: IncomingRequest, array: str) -> int:
    """How many items the request has in the ``array`` that it begins with; they are not read
    where nobody has read them yet."""
    request = question.request
    if isinstance(request, UnreadRequest):
        return request.count()
    return len(getattr(request.body, array))


def authorized_operations(services: Services, question: IncomingRequest) -> int:
    """The operations on the cluster that the asker may do, as a bit field (KIP-430)."""
    asked = [
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ]
    if services.authorizer is None:
        return sum(1 << operation for operation in asked)
    actions = [
        Action(operation, cluster(), log_if_allowed=False, log_if_denied=False)
        for operation in asked
    ]
    results = services.authorizer.authorize(question.context, actions)
    return sum(
        1 << operation
        for operation, result in zip(asked, results, strict=True)
        if result is ALLOWED
    )


def error_fields(error: ApiError) -> dict[str, Any]:
    """An error as the two fields that Kafka's responses have for it."""
    return {"error_code": KafkaErrorCode(error.code), "error_message": error.message}


def outcome_fields(error: ApiError) -> dict[str, Any]:
    """The same, of those responses in which Kafka's message is empty where all is well, and not
    null."""
    return error_fields(error if error else ApiError(message=""))


def told(error: BaseException) -> ApiError:
    """What an asker is told of a failure: what is meant for callers, and nothing else."""
    if isinstance(error, InvalidRequest):
        return ApiError(error.code, str(error))
    return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)


def answer(api: HandledApi, services: Services, question: IncomingRequest) -> Answer:
    """What ``api`` answers, an error too. ``Malformed`` ends the connection."""
    try:
        answered = api.handle(services, question)
    except Malformed:
        raise
    except Exception as error:
        return refused_by(api, question, error)
    if not isinstance(answered, (Future, DeferredResponse)):
        return answered
    return DeferredResponse(answered, lambda done: result_or_refusal(api, question, done))


def result_or_refusal(
    api: HandledApi, question: IncomingRequest, done: Future[Any] | DeferredResponse
) -> Body:
    error = done.exception()
    if isinstance(error, Malformed):
        raise error
    return done.result() if error is None else refused_by(api, question, error)


def refused_by(api: HandledApi, question: IncomingRequest, error: BaseException) -> Body:
    """The answer that tells ``error``; what nobody foresaw is logged."""
    if not isinstance(error, MetalogError):
        _log.error("%s failed", api.name, exc_info=error)
    outcome = told(error)
    if outcome.code is ErrorCode.AUTHORIZER_NOT_READY:
        outcome = ApiError(api.not_ready, outcome.message)
    return api.refuse(question, outcome)


def forwarded_for(question: IncomingRequest, forwarder: Forwarder, request: bytes) -> Future[bytes]:
    """What a controller answers to ``request``, forwarded as the asker's."""
    return forwarder.forward(
        request,
        parse_principal(question.context.principal),
        ip_address(question.context.host).packed,
    )

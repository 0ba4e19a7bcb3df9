"""What every handler is given, what it answers, and who may ask: the ground they share.

A handler is a function of ``Services`` and a ``Question``; its answer is a body, or a future of
one where something has to be made durable first. What it raises, or its future, is told to the
asker by the API's ``refuse``, which puts an error where its response has room for one. This
module must not know any one API.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from ipaddress import ip_address
from typing import Any, Final, NamedTuple

from kio.schema.errors import ErrorCode as KafkaErrorCode

from authorizer.api import Action, RequestContext, cluster
from authorizer.decide import ALLOWED
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
from metalog.futures import after
from metalog.principal import parse_principal
from metalog.replica import Replica
from metalog.wire.frames import Malformed
from metalog.wire.hosts import Address
from metalog.wire.messages import Request
from metalog.wire.schema import Body
from metalog.wire.versions import VersionRange
from metalog_node.feed import Feed
from metalog_node.forward import Forwarder
from metalog_node.listeners import Listener
from metalog_node.listings import Listings

_log = logging.getLogger(__name__)

NO_THROTTLING: Final = timedelta()


class Question(NamedTuple):
    """``context`` says who asks: the connection's client, or whom an Envelope speaks for.
    ``payload`` is the whole request as it came; ``is_forwarded`` where an Envelope brought it, from
    a node that has judged it by its own configuration."""

    request: Request
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
    where long answers are kept.
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
    feed: Feed | None = None
    listings: Listings | None = None

    @property
    def cluster_id(self) -> str:
        """Empty as long as nobody has told it."""
        return self.known_cluster_id()


Answer = Body | Future[Any]
"""A body, or bytes that are a whole response already; or a future of either."""
Handle = Callable[[Services, Question], Answer]
Refuse = Callable[[Question, ApiError], Body]


class Api(NamedTuple):
    """``name`` as Kafka's audit lines have it. ``refuse`` makes the answer that says an error.

    Kafka never numbered AUTHORIZER_NOT_READY: ``not_ready`` is the nearest error after which the
    API's own clients try again.
    """

    name: str
    versions: VersionRange
    handle: Handle
    refuse: Refuse
    not_ready: ErrorCode = ErrorCode.REQUEST_TIMED_OUT


class ClusterAuthorizationFailed(InvalidRequest):
    """The asker may not do this to the cluster."""

    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


class SecurityDisabled(InvalidRequest):
    """There are no ACLs where nothing is authorized."""

    code = ErrorCode.SECURITY_DISABLED


def ask(services: Services, question: Question, operation: Operation) -> None:
    """``ClusterAuthorizationFailed`` unless the asker may do ``operation`` on the cluster;
    ``AuthorizerNotReady`` where nobody can say yet."""
    if services.authorizer is None:
        return
    [result] = services.authorizer.authorize(question.context, [Action(operation, cluster())])
    if result is not ALLOWED:
        raise ClusterAuthorizationFailed(f"{operation.name} on the cluster is not allowed")


def authorized_operations(services: Services, question: Question) -> int:
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


def answer(api: Api, services: Services, question: Question) -> Answer:
    """What ``api`` answers, an error too. ``Malformed`` ends the connection."""
    try:
        answered = api.handle(services, question)
    except Malformed:
        raise
    except Exception as error:
        return refused_by(api, question, error)
    if not isinstance(answered, Future):
        return answered
    return after(answered, lambda done: result_or_refusal(api, question, done))


def result_or_refusal(api: Api, question: Question, done: Future[Any]) -> Body:
    error = done.exception()
    return done.result() if error is None else refused_by(api, question, error)


def refused_by(api: Api, question: Question, error: BaseException) -> Body:
    """The answer that tells ``error``; what nobody foresaw is logged."""
    if not isinstance(error, MetalogError):
        _log.error("%s failed", api.name, exc_info=error)
    outcome = told(error)
    if outcome.code is ErrorCode.AUTHORIZER_NOT_READY:
        outcome = ApiError(api.not_ready, outcome.message)
    return api.refuse(question, outcome)


def forwarded_for(question: Question, forwarder: Forwarder, request: bytes) -> Future[bytes]:
    """What a controller answers to ``request``, forwarded as the asker's."""
    return forwarder.forward(
        request,
        parse_principal(question.context.principal),
        ip_address(question.context.host).packed,
    )

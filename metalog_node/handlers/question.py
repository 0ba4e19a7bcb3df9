"""What every handler is given, what it answers, and who may ask: the ground they share.

A handler is a function of ``Services`` and a ``Question``; its answer is a body, or a future of
one where something has to be made durable first. ``Refused`` is an answer too: each handler
puts it where its own response has room for an error. This module must not know any one API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, Final, NamedTuple, TypeVar

from kio.schema.errors import ErrorCode as KafkaErrorCode

from authorizer.api import Action, RequestContext, cluster
from authorizer.decide import ALLOWED
from authorizer.interface import Authorizer
from metalog.acl import Operation
from metalog.errors import ApiError, AuthorizerNotReady, ErrorCode, InvalidRequest
from metalog.replica import Replica
from metalog.wire.hosts import Address
from metalog.wire.messages import Request
from metalog.wire.schema import Body
from metalog_node.listeners import Listener

T = TypeVar("T")
R = TypeVar("R")

NO_THROTTLING: Final = timedelta()
NOT_READY_TOLD_AS: Final = ErrorCode.REQUEST_TIMED_OUT
"""Kafka never numbered AUTHORIZER_NOT_READY: a direct client is told the nearest error that
its own library counts as worth another try."""


class Question(NamedTuple):
    """``context`` says who asks: the connection's client, or whom an Envelope speaks for."""

    request: Request
    context: RequestContext
    listener: Listener
    is_encrypted: bool


class Services(NamedTuple):
    """What a node has to answer from. ``authorizer`` is None where nothing is authorized.

    ``addresses`` are where clients find each listener.
    """

    node_id: int
    cluster_id: str
    roles: frozenset[str]
    replica: Replica
    authorizer: Authorizer | None
    listeners: Sequence[Listener]
    addresses: Mapping[str, Address]


Answer = Body | Future[Any]
Handler = Callable[[Services, Question], Answer]


class Refused(InvalidRequest):
    """The request is not carried out; ``error`` says why, in Kafka's code and words."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = ApiError(code, message)


def ask(services: Services, question: Question, operation: Operation) -> None:
    """``Refused`` unless the asker may do ``operation`` on the cluster."""
    if services.authorizer is None:
        return
    try:
        [result] = services.authorizer.authorize(question.context, [Action(operation, cluster())])
    except AuthorizerNotReady as error:
        raise Refused(NOT_READY_TOLD_AS, str(error)) from None
    if result is not ALLOWED:
        raise Refused(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED, f"{operation.name} on the cluster is denied"
        )


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
    try:
        results = services.authorizer.authorize(question.context, actions)
    except AuthorizerNotReady:
        return 0
    return sum(
        1 << operation
        for operation, result in zip(asked, results, strict=True)
        if result is ALLOWED
    )


def error_fields(error: ApiError) -> dict[str, Any]:
    """An error as the two fields that Kafka's responses have for it."""
    return {"error_code": KafkaErrorCode(error.code), "error_message": error.message}


def when_done(futures: Sequence[Future[T]], body: Callable[[list[T]], R]) -> Future[R]:
    """``body`` of all their results, once the last is there; the first failure if there is one."""
    whole: Future[R] = Future()
    waiting = list(futures)

    def settle(_: Future[T] | None) -> None:
        while waiting and waiting[-1].done():
            waiting.pop()
        if waiting:
            waiting[-1].add_done_callback(settle)
            return
        try:
            whole.set_result(body([future.result() for future in futures]))
        except Exception as error:
            whole.set_exception(error)

    settle(None)
    return whole


def told(error: Exception) -> ApiError:
    """What an asker is told of a failure: what is meant for callers, and nothing else."""
    if isinstance(error, Refused):
        return error.error
    if isinstance(error, InvalidRequest):
        return ApiError(error.code, str(error))
    return ApiError(
        ErrorCode.UNKNOWN_SERVER_ERROR,
        "The server experienced an unexpected error when processing the request.",
    )

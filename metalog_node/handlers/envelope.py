"""Both ends of an Envelope: a broker forwards a client's request, and a controller answers it.

The broker needs CLUSTER_ACTION. The controller authorizes the inner request for the principal and
the address in the Envelope (KIP-590). Errors for the broker, such as NOT_CONTROLLER, become the
Envelope's own error code (KIP-801). An Envelope does not say whether the client uses TLS, so the
client's connection counts as not encrypted.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Final

from authorizer.api import RequestContext
from metalog.acl import Operation
from metalog.errors import ApiError, AuthorizerNotReady, ErrorCode, InvalidRequest, NotController
from metalog.wire.declared.extensions import ENVELOPE
from metalog.wire.declared.newest import UNREGISTER_CONTROLLER
from metalog.wire.envelope import VERSIONS, Forwarded, sealed_answer, unseal
from metalog.wire.frames import Malformed
from metalog.wire.messages import (
    UnreadRequest,
    WireRequest,
    read_head,
    read_response,
    write_response,
)
from metalog.wire.schema import Body, UnsupportedVersion, response_type
from metalog.wire.versions import VersionRange
from metalog_node.handlers import acls, cluster, quorum, scram
from metalog_node.handlers.request import (
    MOST_BYTES,
    Answer,
    DeferredResponse,
    HandledApi,
    IncomingRequest,
    Services,
    authorize_cluster,
    forwarded_for,
    refused_by,
    result_or_refusal,
)

_FORWARDED_KEYS: Final = (
    acls.CREATE_ACLS, acls.DELETE_ACLS, scram.ALTER_SCRAM, quorum.DESCRIBE_QUORUM,
    UNREGISTER_CONTROLLER,
)  # fmt: skip
_FORWARDABLE: Final = {
    key: api
    for key, api in {**acls.APIS, **scram.APIS, **quorum.APIS, **cluster.APIS}.items()
    if key in _FORWARDED_KEYS
}
_ENVELOPE_OVERHEAD: Final = 64 << 10
_FORWARDED_SINCE: Final = {acls.CREATE_ACLS: 1, acls.DELETE_ACLS: 1}
"""The first version of an API that Kafka 4's controllers accept, by API key."""


class ForwardedUnreadable(InvalidRequest):
    """The Envelope is valid, but the request in it cannot be read. Kafka sends the same code."""

    code = ErrorCode.UNSUPPORTED_VERSION


_FOR_THE_BROKER: Final = (AuthorizerNotReady, NotController, ForwardedUnreadable)
"""Errors that become the Envelope's own error code."""


class _ForwardedRequest(UnreadRequest):
    """Malformed bytes raise ``ForwardedUnreadable``, because a client's mistake must not close the
    broker's connection."""

    def read(self) -> WireRequest:
        try:
            return super().read()
        except Malformed as error:
            raise _unreadable(error) from None

    def count(self) -> int:
        try:
            return super().count()
        except Malformed as error:
            raise _unreadable(error) from None


def open_envelope(services: Services, incoming: IncomingRequest) -> Answer:
    authorize_cluster(services, incoming, Operation.CLUSTER_ACTION)
    forwarded = unseal(incoming.request.body)
    request = _inner(forwarded)
    api = _FORWARDABLE[request.head.api_key]
    context = RequestContext(forwarded.principal, forwarded.host, incoming.listener.name, api.name)
    inner = IncomingRequest(
        request,
        forwarded.request,
        context,
        incoming.listener,
        is_encrypted=False,
        is_forwarded=True,
    )
    try:
        answered = api.handle(services, inner)
    except _FOR_THE_BROKER:
        raise
    except Exception as error:
        answered = refused_by(api, inner, error)
    if not isinstance(answered, (Future, DeferredResponse)):
        return _envelope_response(incoming, request, answered)

    def sealed(done: Future[Any] | DeferredResponse) -> Body:
        error = done.exception()
        if isinstance(error, _FOR_THE_BROKER):
            raise error
        return _envelope_response(incoming, request, result_or_refusal(api, inner, done))

    return DeferredResponse(answered, sealed)


def refuse_envelope(incoming: IncomingRequest, error: ApiError) -> Body:
    return sealed_answer(incoming.request.head.version, error.code, None)


def _inner(forwarded: Forwarded) -> UnreadRequest:
    try:
        head = read_head(forwarded.request)
    except Malformed as error:
        raise _unreadable(error) from None
    api = _FORWARDABLE.get(head.api_key)
    if api is None:
        raise InvalidRequest(f"API {head.api_key} is not forwarded in an Envelope")
    if not api.versions.least <= head.version <= api.versions.most:
        raise UnsupportedVersion(head.api_key, head.version)
    return _ForwardedRequest(head, forwarded.request, api.most_elements)


def _unreadable(error: Malformed) -> ForwardedUnreadable:
    return ForwardedUnreadable(f"the forwarded request cannot be read: {error}")


def _envelope_response(incoming: IncomingRequest, inner: UnreadRequest, body: Body) -> Body:
    response = write_response(body, inner.head.correlation_id)
    return sealed_answer(incoming.request.head.version, ErrorCode.NONE, response)


def forward(services: Services, incoming: IncomingRequest) -> Answer:
    """Forward the request, and return the response unchanged. The active controller handles the
    request itself."""
    if services.replica.is_active:
        return _FORWARDABLE[incoming.request.head.api_key].handle(services, incoming)
    if services.forwarder is None:
        raise NotController("there is no controller to forward to")
    if incoming.request.head.api_key != scram.ALTER_SCRAM:
        return forwarded_for(incoming, services.forwarder, incoming.payload)
    scram.check_salted(services, incoming)

    def logged(done: Future[bytes]) -> bytes:
        answer = done.result()
        declared = response_type(scram.ALTER_SCRAM, incoming.request.head.version)
        body: Any = read_response(answer, declared)
        refused = [result.user for result in body.results if result.error_code]
        scram.log_unchecked(services, incoming, refused)
        return answer

    return DeferredResponse(forwarded_for(incoming, services.forwarder, incoming.payload), logged)


BROKER_APIS: Final = {
    key: HandledApi(
        api.name,
        VersionRange(max(api.versions.least, _FORWARDED_SINCE.get(key, 0)), api.versions.most),
        forward,
        api.refuse,
        most_elements=api.most_elements,
        most_bytes=api.most_bytes,
        since=api.since,
    )
    for key, api in _FORWARDABLE.items()
}
"""The APIs that a node forwards, on every listener, if another node can be the controller."""
CONTROLLER_APIS: Final = {
    ENVELOPE: HandledApi(
        "Envelope",
        VersionRange(VERSIONS[0], VERSIONS[-1]),
        open_envelope,
        refuse_envelope,
        ErrorCode.AUTHORIZER_NOT_READY,
        most_bytes=MOST_BYTES + _ENVELOPE_OVERHEAD,
    )
}

"""Envelope (KIP-590): a request that a broker forwards for its client, and the answer.

Version 0 is Kafka's. Version 1 is ours. Version 1 has the same fields, but can have our own error
codes, such as AUTHORIZER_NOT_READY. Version 0 has UNKNOWN_SERVER_ERROR instead (KIP-801). This
module must not know what is forwarded, nor who may forward a request.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kio.schema.default_principal_data.v0.data import DefaultPrincipalData
from kio.schema.errors import ErrorCode as KafkaErrorCode

from metalog.errors import ErrorCode, InvalidRequest
from metalog.hosts.client_host import host_text
from metalog.principal import KafkaPrincipal
from metalog.wire import reader
from metalog.wire.declared.extensions import ENVELOPE
from metalog.wire.frames import Malformed
from metalog.wire.messages import write_data
from metalog.wire.schema import Body, request_type, response_type

VERSIONS: Final = range(2)
FIRST_OWN_CODE: Final = 20_000

_PRINCIPAL_VERSION: Final = bytes(2)


class PrincipalUnreadable(InvalidRequest):
    """The principal is not in the format of Kafka's default principal builder."""

    code = ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE


class Forwarded(NamedTuple):
    """A forwarded request and its client.

    ``request`` is the client's header and body. ``host`` is the client's address in Java's form.
    """

    request: bytes
    principal: KafkaPrincipal
    token_authenticated: bool
    host: str


class ForwardedAnswer(NamedTuple):
    """``response`` is a header and body; None if ``code`` is an error."""

    code: int
    response: bytes | None


def seal(
    version: int,
    request: bytes,
    principal: KafkaPrincipal,
    address: bytes,
    *,
    token_authenticated: bool = False,
) -> Body:
    """An Envelope; ``address`` is the client's address of 4 or 16 bytes."""
    data = DefaultPrincipalData(
        type_=principal.principal_type, name=principal.name, token_authenticated=token_authenticated
    )
    return request_type(ENVELOPE, version)(
        request_data=request,
        request_principal=_PRINCIPAL_VERSION + write_data(data),
        client_host_address=address,
    )


def unseal(envelope: Body) -> Forwarded:
    """The request in ``envelope``.

    Raises ``PrincipalUnreadable``, or ``InvalidRequest`` for an invalid address.
    """
    data = envelope.request_principal
    if data is None or data[:2] != _PRINCIPAL_VERSION:
        raise PrincipalUnreadable("an Envelope's principal has an unknown form")
    try:
        principal, _ = reader.read(DefaultPrincipalData, data, len(_PRINCIPAL_VERSION))
    except Malformed as error:
        raise PrincipalUnreadable(f"an Envelope's principal cannot be read: {error}") from None
    return Forwarded(
        envelope.request_data,
        KafkaPrincipal(principal.type_, principal.name),
        principal.token_authenticated,
        host_text(envelope.client_host_address),
    )


def sealed_answer(version: int, code: ErrorCode, response: bytes | None) -> Body:
    """The answer to an Envelope; ``response`` is None unless ``code`` is ``NONE``."""
    error_code = int(code)
    if version == 0:
        own = code >= FIRST_OWN_CODE
        error_code = KafkaErrorCode(ErrorCode.UNKNOWN_SERVER_ERROR if own else code)
    return response_type(ENVELOPE, version)(response_data=response, error_code=error_code)


def unsealed_answer(envelope: Body) -> ForwardedAnswer:
    code = int(envelope.error_code)
    if code == ErrorCode.NONE and envelope.response_data is None:
        raise Malformed("the answer to an Envelope has neither a response nor an error")
    return ForwardedAnswer(code, envelope.response_data)

"""The client's side of one connection, without a socket: bytes in, answers and bytes out.

A session requests the peer's versions, and logs in if it has credentials. Then it sends requests.
Kafka answers in order; an answer out of order is an error. This module must not know sockets, time,
or what the requests mean.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from metalog.errors import ErrorCode
from metalog.ids import Entropy
from metalog.wire.client.sasl import (
    AuthenticationFailed,
    Exchange,
    LoginUnavailable,
    SaslCredentials,
    exchange_of,
)
from metalog.wire.frames import DEFAULT_LIMIT, FrameReader, Malformed, framed
from metalog.wire.messages import correlation_of, read_response, write_request
from metalog.wire.schema import Body, error_name, request_type, response_type
from metalog.wire.versions import (
    API_VERSIONS,
    ApiVersionsRefused,
    VersionRange,
    Versions,
    best_version,
    read_versions,
    versions_request,
)

SASL_HANDSHAKE: Final = 17
SASL_AUTHENTICATE: Final = 36
_LOGIN_REFUSED: Final = (
    ErrorCode.SASL_AUTHENTICATION_FAILED,
    ErrorCode.UNSUPPORTED_SASL_MECHANISM,
    ErrorCode.ILLEGAL_SASL_STATE,
)
"""The error codes that Kafka's clients raise as AuthenticationException."""
_HANDSHAKE_VERSIONS: Final = (1,)
"""After a handshake in version 0, tokens have no headers."""
_AUTHENTICATE_VERSIONS: Final = range(3)
_FIRST_API_VERSIONS_VERSION: Final = 4


class ClientResponse(NamedTuple):
    """An answer; ``ask`` returned the ``correlation_id``."""

    correlation_id: int
    body: Body


class Received(NamedTuple):
    """The caller must send ``to_send`` to the peer at once."""

    answers: list[ClientResponse]
    to_send: bytes


class ClientSession:
    """Send ``opening()`` first, and call ``ask`` only when ``is_ready`` is true."""

    def __init__(
        self,
        client_id: str,
        credentials: SaslCredentials | None = None,
        *,
        entropy: Entropy,
        software_version: str = "0",
        limit: int = DEFAULT_LIMIT,
    ) -> None:
        self.versions: Versions = {}
        self.features: Mapping[str, VersionRange] = {}
        self.finalized: Mapping[str, int] = {}
        self.is_ready = False
        self._client_id = client_id
        self._credentials = credentials
        self._entropy = entropy
        self._software_version = software_version
        self._frames = FrameReader(limit)
        self._waiting: deque[tuple[int, type[Body]]] = deque()
        self._exchange: Exchange | None = None
        self._requested_version = _FIRST_API_VERSIONS_VERSION
        self._last_id = 0

    def opening(self) -> bytes:
        return self._send(versions_request(self._requested_version, self._software_version))

    def version(self, api_key: int, ours: Iterable[int]) -> int:
        return best_version(api_key, self.versions, ours)

    def ask(self, request: Body) -> tuple[int, bytes]:
        """The correlation id of ``request``, and the bytes to send."""
        if not self.is_ready:
            raise RuntimeError("the session is not ready: the login comes first")
        to_send = self._send(request)
        return self._last_id, to_send

    def receive(self, data: bytes) -> Received:
        """Process received bytes.

        Raises ``Malformed``, ``AuthenticationFailed``, ``LoginUnavailable`` or another
        ``InvalidRequest``; the caller then closes the connection.
        """
        answers, to_send = [], b""
        for frame in self._frames.feed(data):
            correlation_id = correlation_of(frame)
            if not self._waiting or self._waiting[0][0] != correlation_id:
                raise Malformed(f"the peer answers request {correlation_id} out of order")
            _, declared = self._waiting.popleft()
            if self.is_ready:
                answers.append(ClientResponse(correlation_id, read_response(frame, declared)))
            else:
                to_send += self._continue_opening(frame, declared)
        return Received(answers, to_send)

    def _send(self, request: Body) -> bytes:
        self._last_id = (self._last_id + 1) & 0x7FFF_FFFF
        answered_by = response_type(request.__api_key__, request.__version__)
        self._waiting.append((self._last_id, answered_by))
        return framed(write_request(request, self._last_id, self._client_id))

    def _continue_opening(self, frame: bytes, declared: type[Any]) -> bytes:
        if declared.__api_key__ == API_VERSIONS:
            return self._take_versions(frame)
        body = read_response(frame, declared)
        if declared.__api_key__ == SASL_HANDSHAKE:
            return self._begin_login(body)
        return self._continue_login(body)

    def _take_versions(self, frame: bytes) -> bytes:
        answer = read_versions(frame, self._requested_version)
        if isinstance(answer, ApiVersionsRefused):
            self._requested_version = answer.version
            return self.opening()
        self.versions, self.features, self.finalized = answer
        if self._credentials is None:
            self.is_ready = True
            return b""
        version = self.version(SASL_HANDSHAKE, _HANDSHAKE_VERSIONS)
        handshake = request_type(SASL_HANDSHAKE, version)
        return self._send(handshake(mechanism=self._credentials.mechanism))

    def _begin_login(self, body: Body) -> bytes:
        if self._credentials is None:
            raise RuntimeError("no login was requested")
        mechanism = self._credentials.mechanism
        if body.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            offered = ", ".join(body.mechanisms) or "none"
            raise AuthenticationFailed(
                f"the server does not offer SASL mechanism {mechanism}; it offers {offered}"
            )
        if body.error_code != ErrorCode.NONE:
            name = error_name(body.error_code)
            raise AuthenticationFailed(
                f"the server refuses a login by {mechanism}: {name}; is it a listener with SASL? "
                "check security.protocol and sasl.mechanism"
            )
        self._exchange = exchange_of(self._credentials, self._entropy)
        return self._send_token(self._exchange.first())

    def _continue_login(self, body: Body) -> bytes:
        if self._exchange is None:
            raise RuntimeError("no login was requested")
        if body.error_code != ErrorCode.NONE:
            message = " ".join((body.error_message or "").split())[:200]
            why = message or error_name(body.error_code)
            if body.error_code in _LOGIN_REFUSED:
                raise AuthenticationFailed(f"the server refused the login: {why}")
            raise LoginUnavailable(f"the server cannot check the login now: {why}")
        token = self._exchange.answer(body.auth_bytes)
        self.is_ready = self._exchange.is_done
        return b"" if token is None else self._send_token(token)

    def _send_token(self, token: bytes) -> bytes:
        version = self.version(SASL_AUTHENTICATE, _AUTHENTICATE_VERSIONS)
        return self._send(request_type(SASL_AUTHENTICATE, version)(auth_bytes=token))

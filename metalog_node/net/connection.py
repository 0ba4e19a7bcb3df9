"""The server's side of one connection, without a socket: takes bytes, yields requests and answers.

It announces the API versions, conducts the login, and passes on the other requests in order. Before
the login, a client may use only the three APIs of a login. Their requests must always be small.
Invalid input raises ``Malformed`` or ``UnsupportedVersion``. This module must not know sockets, or
what any other request is for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from itertools import takewhile
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode as KafkaErrorCode

from metalog.errors import ErrorCode
from metalog.principal import KafkaPrincipal
from metalog.wire.client.session import SASL_AUTHENTICATE, SASL_HANDSHAKE
from metalog.wire.frames import FrameReader, Malformed, framed
from metalog.wire.messages import (
    RequestHeader,
    WireRequest,
    read_head,
    read_request,
    write_response,
)
from metalog.wire.schema import Body, UnsupportedVersion, response_type
from metalog.wire.versions import API_VERSIONS, Features, Versions, versions_payload
from metalog_node.auth.authentication import Login, LoginRefused, Logins, NotReadyForLogins

BEFORE_LOGIN_BYTES: Final = 8 << 10
"""The maximum size of a login's requests and tokens."""

_HEAD_BYTES: Final = 8

_LOGIN_APIS: Final = (SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE)
_ILLEGAL_SASL_STATE: Final = KafkaErrorCode(ErrorCode.ILLEGAL_SASL_STATE)
_SHOWN_CHARACTERS: Final = 100
_OUT_OF_TURN: Final = "SaslAuthenticate request received after successful authentication"
_OTHER_PROTOCOLS: Final = {
    b"\x16\x03": "it speaks TLS, and this listener does not; change the client's security.protocol",
    b"GET ": "it speaks HTTP; metrics and probes are on metrics.listener",
}
_LIFETIME_SINCE: Final = 1
_MOST_LIFETIME_MS: Final = 10**15
"""Approximately 30,000 years."""
_LEAST_BETWEEN_LOGINS_S: Final = 1.0
_NO_SOFTWARE_NAME: Final = "unknown"
_NO_NODE: Final = -1
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class QueuedRequest(NamedTuple):
    """A request to answer, and its sender. ``payload`` is the whole request."""

    head: RequestHeader
    payload: bytes
    principal: KafkaPrincipal


class ServerConnection:
    """The state of one connection.

    - ``announced``: the node's API versions.
    - ``logins`` is None without SASL. The client is then ``principal``.
    - ``most_bytes``: the maximum size of a request. ``most_bytes_of`` has lower limits, by API key.
    - ``identity`` returns the node's cluster id and node id. After the login, an ApiVersions
      request for another cluster or node is refused.
    """

    def __init__(
        self,
        announced: Versions,
        *,
        logins: Logins | None,
        principal: KafkaPrincipal,
        most_bytes: int,
        most_bytes_of: Mapping[int, int] | None = None,
        features: Callable[[], Features | None] = lambda: None,
        identity: Callable[[], tuple[str, int]] | None = None,
    ) -> None:
        self.is_over = False
        """Whether to close the connection as soon as everything has been sent."""
        self.failed_login: LoginRefused | NotReadyForLogins | None = None
        self._announced = announced
        self._logins = logins
        self._features = features
        self._identity = identity
        self._principal = principal if logins is None else None
        self._most_bytes = most_bytes
        self._most_bytes_of = {
            **(most_bytes_of or {}),
            **dict.fromkeys(_LOGIN_APIS, BEFORE_LOGIN_BYTES),
        }
        self._frames = FrameReader(most_bytes if logins is None else BEFORE_LOGIN_BYTES)
        self._login: Login | None = None
        self._mechanism = ""
        self._has_versions = False
        self._renewed_at = -math.inf
        self._session_ends_at: float | None = None
        self._takes_bare_tokens = False
        self._is_new = True

    @property
    def principal(self) -> KafkaPrincipal | None:
        """The client's principal; None before the login."""
        return self._principal

    @property
    def is_amid_login(self) -> bool:
        """Whether the client has sent bytes, and has not proven its identity yet."""
        return self._principal is None and not self._is_new

    def receive(self, data: bytes) -> Iterator[bytes | QueuedRequest]:
        """Yield, in order, bytes to send and requests to answer.

        Each request is decoded only when the caller takes it, so that answers do not pile up.
        """
        if self._is_new:
            self._is_new = False
            _refuse_other_protocols(data)
        frames = takewhile(lambda _: not self.is_over, self._frames.feed(data))
        yield from map(self._step, frames)
        if not self.is_over:
            self._check_beginning()

    def _check_beginning(self) -> None:
        size, first = self._frames.beginning(_HEAD_BYTES)
        if len(first) == _HEAD_BYTES and not self._takes_bare_tokens:
            self._check_size(read_head(first), size)

    def _check_size(self, head: RequestHeader, size: int) -> None:
        most = self._most_bytes_of.get(head.api_key, self._most_bytes)
        if size > most:
            raise Malformed(f"a request of {size} bytes; API {head.api_key} takes at most {most}")

    def _step(self, frame: bytes) -> bytes | QueuedRequest:
        if self._takes_bare_tokens:
            return self._bare_token(frame)
        head = read_head(frame)
        self._check_size(head, len(frame))
        self._check_session(head)
        if head.api_key == API_VERSIONS:
            return self._versions(frame, head)
        self._check_version(head)
        if head.api_key == SASL_HANDSHAKE:
            return self._handshake(read_request(frame))
        is_before_handshake = self._principal is None and self._login is None
        if head.api_key == SASL_AUTHENTICATE and not is_before_handshake:
            return self._authenticate(read_request(frame))
        if self._principal is None or self._login is not None:
            raise Malformed(f"API {head.api_key} was requested before the login")
        return QueuedRequest(head, frame, self._principal)

    def _check_session(self, head: RequestHeader) -> None:
        """After a login has expired, the client can only log in again (KIP-368)."""
        if (
            self._logins is not None
            and self._session_ends_at is not None
            and self._login is None
            and head.api_key != SASL_HANDSHAKE
            and self._logins.clock() >= self._session_ends_at
        ):
            raise Malformed("its login has expired, by connections.max.reauth.ms")

    def _may_log_in(self) -> bool:
        """Whether a login may begin. A login that expires can be renewed at most once a second, as
        in Kafka."""
        if self._logins is None or self._login is not None:
            return False
        if self._principal is None:
            return True
        passed_s = self._logins.clock() - self._renewed_at
        return self._session_ends_at is not None and passed_s >= _LEAST_BETWEEN_LOGINS_S

    def _check_version(self, head: RequestHeader) -> None:
        announced = self._announced.get(head.api_key)
        if announced is None or not announced.least <= head.version <= announced.most:
            raise UnsupportedVersion(head.api_key, head.version)

    def _versions(self, frame: bytes, head: RequestHeader) -> bytes:
        """The answer to ApiVersions, also in an unsupported version (KIP-511). As in Kafka, a
        client can request it successfully only once before the login."""
        own = self._announced[API_VERSIONS]
        version = head.version if own.least <= head.version <= own.most else 0
        if self._login is not None:
            self._refuse_amid_login("ApiVersions")
            refusal = ErrorCode.ILLEGAL_SASL_STATE
            return framed(versions_payload(version, refusal, {}, None, head.correlation_id))
        if self._principal is None and self._has_versions:
            raise Malformed("ApiVersions was requested twice before the login")
        if version != head.version:
            refusal = ErrorCode.UNSUPPORTED_VERSION
            payload = versions_payload(0, refusal, {API_VERSIONS: own}, None, head.correlation_id)
            return framed(payload)
        code = self._identity_error(read_request(frame).body)
        if code is not ErrorCode.NONE:
            return framed(versions_payload(head.version, code, {}, None, head.correlation_id))
        self._has_versions = True
        payload = versions_payload(
            head.version, code, self._announced, self._features(), head.correlation_id
        )
        return framed(payload)

    def _refuse_amid_login(self, name: str) -> None:
        """End the connection, as Kafka does: only SaslAuthenticate may follow SaslHandshake."""
        self.is_over = True
        self.failed_login = LoginRefused(self._mechanism, f"{name} was requested during the login")

    def _identity_error(self, body: Body) -> ErrorCode:
        """Check the client's software name and version. After the login, also check the cluster and
        node that it names, as Kafka 4.4 does on brokers' listeners (KIP-1242)."""
        names = [
            getattr(body, f"client_software_{field}", _NO_SOFTWARE_NAME)
            for field in ("name", "version")
        ]
        cluster_id = getattr(body, "cluster_id", None)
        node_id = getattr(body, "node_id", _NO_NODE)
        is_named = (cluster_id is not None, node_id != _NO_NODE)
        if not all(map(_SOFTWARE.fullmatch, names)) or is_named in {(True, False), (False, True)}:
            return ErrorCode.INVALID_REQUEST
        if not all(is_named) or self._identity is None or self._principal is None:
            return ErrorCode.NONE
        own_cluster_id, own_node_id = self._identity()
        is_here = cluster_id == own_cluster_id and node_id == own_node_id
        return ErrorCode.NONE if is_here or not own_cluster_id else ErrorCode.REBOOTSTRAP_REQUIRED

    def _handshake(self, request: WireRequest) -> bytes:
        declared = response_type(SASL_HANDSHAKE, request.head.version)
        if self._login is not None:
            self._refuse_amid_login("SaslHandshake")
        if self._logins is None or not self._may_log_in():
            answer = declared(error_code=_ILLEGAL_SASL_STATE, mechanisms=())
            return _answered(request, answer)
        if self._principal is not None:
            self._renewed_at = self._logins.clock()
        enabled = tuple(self._logins.mechanisms)
        mechanism = request.body.mechanism
        if self._mechanism in ("", mechanism):
            self._login = self._logins.begin(mechanism)
        if self._login is None:
            self.is_over = True
            mechanism_name = mechanism[:_SHOWN_CHARACTERS]
            self.failed_login = LoginRefused(
                mechanism_name, f"SASL mechanism {mechanism_name!r} is not enabled"
            )
            refusal = KafkaErrorCode(ErrorCode.UNSUPPORTED_SASL_MECHANISM)
            return _answered(request, declared(error_code=refusal, mechanisms=enabled))
        self._mechanism = mechanism
        self._takes_bare_tokens = request.head.version == 0
        return _answered(request, declared(error_code=KafkaErrorCode.none, mechanisms=enabled))

    def _authenticate(self, request: WireRequest) -> bytes:
        declared = response_type(SASL_AUTHENTICATE, request.head.version)
        if self._login is None:
            refusal = declared(
                error_code=_ILLEGAL_SASL_STATE, error_message=_OUT_OF_TURN, auth_bytes=b""
            )
            return _answered(request, refusal)
        try:
            token = self._take_token(request.body.auth_bytes)
        except (LoginRefused, NotReadyForLogins) as refused:
            answer = declared(
                error_code=KafkaErrorCode(refused.code), error_message=str(refused), auth_bytes=b""
            )
            return _answered(request, answer)
        fields: dict[str, object] = {}
        if request.head.version >= _LIFETIME_SINCE and self._login is None:
            fields["session_lifetime"] = timedelta(
                milliseconds=min(self._session_ms(), _MOST_LIFETIME_MS)
            )
        answer = declared(
            error_code=KafkaErrorCode.none, error_message="", auth_bytes=token, **fields
        )
        return _answered(request, answer)

    def _session_ms(self) -> int:
        return 0 if self._logins is None else self._logins.sessions_ms.get(self._mechanism, 0)

    def _bare_token(self, token: bytes) -> bytes:
        """Answer a token without a header, as after SaslHandshake version 0. A refused token gets
        no answer."""
        try:
            return framed(self._take_token(token))
        except (LoginRefused, NotReadyForLogins):
            return b""

    def _take_token(self, token: bytes) -> bytes:
        if self._login is None or self._logins is None:
            raise Malformed("a token without a login")
        try:
            answer = self._login.answer(token)
            if self._principal not in (None, self._login.principal or self._principal):
                raise LoginRefused(self._mechanism, "it logs in again as somebody else")
        except (LoginRefused, NotReadyForLogins) as refused:
            self.is_over, self.failed_login = True, refused
            raise
        if self._login.principal is not None:
            self._principal, self._login = self._login.principal, None
            self._takes_bare_tokens = False
            session_ms = self._session_ms()
            self._session_ends_at = self._logins.clock() + session_ms / 1000 if session_ms else None
            self._frames.limit = self._most_bytes
        return answer


def _refuse_other_protocols(first: bytes) -> None:
    for beginning, why in _OTHER_PROTOCOLS.items():
        if first.startswith(beginning):
            raise Malformed(why)


def _answered(request: WireRequest, body: object) -> bytes:
    return framed(write_response(body, request.head.correlation_id))

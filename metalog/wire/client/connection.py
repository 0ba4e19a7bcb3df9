"""One connection to a peer over a blocking socket: it connects, logs in, and sends requests.

After ``Unreachable``, a caller can try another peer, or try again. After any other error, this peer
cannot be used. A failed request closes the connection. This module must not know what the requests
mean.
"""

from __future__ import annotations

import math
import os
import socket
import ssl
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Self

from metalog.errors import InvalidRequest
from metalog.hosts.host_port import Address
from metalog.wire.client.sasl import AuthenticationFailed, LoginUnavailable
from metalog.wire.client.security import ClientSettings
from metalog.wire.client.session import ClientResponse, ClientSession
from metalog.wire.frames import Malformed
from metalog.wire.schema import Body
from metalog.wire.versions import VersionRange, Versions

_CHUNK: Final = 1 << 18
_CHECK_EVERY_S: Final = 0.25
"""Seconds between two calls of ``is_wanted``."""
_TLS_ALERT: Final = b"\x15\x03"
_NO_ANSWER: Final = "no answer in time"
_NOT_SENT_IN_TIME: Final = "the request could not be sent in time"
_HUNG_UP: Final = "it closed the connection"
_REFUSED: Final = "connection refused: nothing listens there; check the address and the server"
_ADVICE: Final = "set security.protocol (the command takes it from --command-config FILE)"


_SILENT: Final = f"{_NO_ANSWER}: it accepts the connection but does not answer; is it Kafka's port?"
_SILENT_PLAIN: Final = f"{_SILENT} If it needs TLS or SASL, {_ADVICE}"
_SILENT_TLS: Final = f"{_SILENT} If it has no TLS, {_ADVICE}"


class Unreachable(InvalidRequest):
    """The peer does not answer, or cannot answer now; the message says why."""


class NotSent(Unreachable):
    """The request was not sent, or not completely: the peer cannot have processed it."""


class Connection:
    """A connection for one thread; the constructor connects and logs in.

    A wait for an answer ends with ``Unreachable`` when ``is_wanted`` returns false.
    """

    def __init__(
        self,
        address: Address,
        settings: ClientSettings,
        *,
        software_version: str = "0",
        is_wanted: Callable[[], bool] = lambda: True,
        opening_deadline: float = math.inf,
    ) -> None:
        """Connect and log in before ``time.monotonic()`` reaches ``opening_deadline``."""
        self.address = address
        self._is_wanted = is_wanted
        self._timeout_s = settings.request_timeout_s
        self._perhaps_wants_login = settings.security.credentials is None
        self._session = ClientSession(
            settings.client_id,
            settings.security.credentials,
            entropy=os.urandom,
            software_version=software_version,
        )
        self._socket: socket.socket | None = None
        deadline = min(opening_deadline, time.monotonic() + settings.opening_timeout_s)
        tls = settings.security.tls
        with self._closed_if_it_fails(_HUNG_UP):
            plain = _connected(address, deadline)
        with self._closed_if_it_fails(
            f"it closed the connection at our first bytes; it may want TLS or SASL: {_ADVICE}",
            _SILENT_PLAIN if tls is None else _SILENT_TLS,
        ):
            self._socket = self._encrypted(plain, tls, deadline)
            weakref.finalize(self, self._socket.close)
            self._send(self._session.opening(), deadline)
            while not self._session.is_ready:
                self._receive(deadline)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def versions(self) -> Versions:
        """The versions of each API that the peer supports."""
        return self._session.versions

    @property
    def features(self) -> Mapping[str, VersionRange]:
        """The feature levels that the peer supports; empty if it announces no feature."""
        return self._session.features

    @property
    def finalized(self) -> Mapping[str, int]:
        """The feature levels in force at the time of the connection."""
        return self._session.finalized

    def version(self, api_key: int, ours: Iterable[int]) -> int:
        """The highest common version of an API; ``NoCommonVersion`` if no version is common."""
        return self._session.version(api_key, ours)

    def ask(self, request: Body, timeout_s: float | None = None) -> Body:
        """Send ``request`` and return the answer; the settings have the default timeout.

        Raises ``NotSent`` if the peer did not get the whole request.
        """
        deadline = time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
        first = f"{_HUNG_UP} at our first request; it may want a login by SASL: {_ADVICE}"
        hung_up = first if self._perhaps_wants_login else _HUNG_UP
        with self._closed_if_it_fails(hung_up, _NOT_SENT_IN_TIME, NotSent):
            correlation_id, to_send = self._session.ask(request)
            self._send(to_send, deadline)
        with self._closed_if_it_fails(hung_up):
            while True:
                for answer in self._receive(deadline):
                    if answer.correlation_id == correlation_id:
                        self._perhaps_wants_login = False
                        return answer.body

    def close(self) -> None:
        open_socket, self._socket = self._socket, None
        if open_socket is not None:
            open_socket.close()

    def _encrypted(
        self, plain: socket.socket, tls: ssl.SSLContext | None, deadline: float
    ) -> socket.socket:
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.settimeout(_left(deadline))
            return (
                plain if tls is None else tls.wrap_socket(plain, server_hostname=self.address.host)
            )
        except BaseException:
            plain.close()
            raise

    def _send(self, data: bytes, deadline: float) -> None:
        self._socket_until(deadline).sendall(data)

    def _receive(self, deadline: float) -> list[ClientResponse]:
        data = self._awaited(deadline)
        if not data:
            raise ConnectionResetError
        if not self._session.is_ready and data.startswith(_TLS_ALERT):
            raise Malformed(f"it speaks TLS, and wants SSL or SASL_SSL: {_ADVICE}")
        answers, to_send = self._session.receive(data)
        if to_send:
            self._send(to_send, deadline)
        return answers

    def _awaited(self, deadline: float) -> bytes:
        while True:
            waiting = self._socket_until(deadline, at_most_s=_CHECK_EVERY_S)
            try:
                return waiting.recv(_CHUNK)
            except TimeoutError:
                if not self._is_wanted():
                    raise

    def _socket_until(self, deadline: float, at_most_s: float | None = None) -> socket.socket:
        if self._socket is None:
            raise ConnectionResetError
        left = _left(deadline)
        self._socket.settimeout(left if at_most_s is None else min(left, at_most_s))
        return self._socket

    @contextmanager
    def _closed_if_it_fails(
        self, hung_up: str, silent: str = _NO_ANSWER, failure: type[Unreachable] = Unreachable
    ) -> Iterator[None]:
        try:
            yield
        except (Malformed, AuthenticationFailed) as error:
            self.close()
            raise type(error)(f"{self.address}: {error}") from None
        except LoginUnavailable as error:
            self.close()
            raise Unreachable(f"{self.address}: {error}") from None
        except OSError as error:
            self.close()
            raise failure(f"{self.address}: {_text_of(error, hung_up, silent)}") from None
        except BaseException:
            self.close()
            raise


class BareConnection:
    """A connection on which nothing is sent."""

    def __init__(self, address: Address, until: float) -> None:
        try:
            self._socket = _connected(address, until)
        except OSError as error:
            raise Unreachable(f"{address}: {_text_of(error, _HUNG_UP)}") from None

    def close(self) -> None:
        self._socket.close()


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _connected(address: Address, deadline: float) -> socket.socket:
    """Connect to the first of the host's addresses that accepts the connection.

    Each address gets a share of the time, so a silent address leaves time for the next one.
    """
    try:
        candidates = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise socket.gaierror(socket.EAI_NONAME, "not a valid host name") from None
    for number, (family, kind, protocol, _, name) in enumerate(candidates):
        tried = socket.socket(family, kind, protocol)
        try:
            tried.settimeout(_left(deadline) / (len(candidates) - number))
            tried.connect(name)
        except BaseException as error:
            tried.close()
            if not isinstance(error, OSError) or number == len(candidates) - 1:
                raise
        else:
            return tried
    raise socket.gaierror(socket.EAI_NONAME, "the host name has no address")


def _tls_trouble(reason: str) -> str:
    if "CERTIFICATE" in reason:
        return f"{reason}; it may require a client certificate: set ssl.keystore.*"
    if "ALERT" in reason:
        return reason
    return f"{reason}; it may be a listener without TLS: set security.protocol"


def _text_of(error: OSError, hung_up: str, silent: str = _NO_ANSWER) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"no TLS connection: {_tls_trouble(error.reason or _HUNG_UP)}"
    if isinstance(error, TimeoutError):
        return silent
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        return hung_up
    if isinstance(error, ConnectionRefusedError):
        return _REFUSED
    return (error.strerror or type(error).__name__).lower()

"""Forwards requests to controllers in Envelopes, until a controller has answered.

If a controller is not active, not ready or unreachable, the forwarder tries the next controller
until the request's time is up (KIP-590, KIP-801). It stops waiting for a controller that is no
longer in the list, because it can hang. After a broken connection, it sends the request again, as
Kafka's brokers do. So a request can be carried out twice. This module must not know what is
forwarded.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, LifoQueue
from threading import Event
from typing import Final

from metalog.errors import ErrorCode, InvalidRequest
from metalog.hosts.host_port import Address
from metalog.principal import KafkaPrincipal
from metalog.wire.client.connection import Connection
from metalog.wire.client.security import ClientSettings
from metalog.wire.declared.extensions import ENVELOPE
from metalog.wire.envelope import VERSIONS, ForwardedAnswer, seal, unsealed_answer
from metalog.wire.schema import error_name

_log = logging.getLogger(__name__)

_THREADS: Final = 16
_PAUSE_S: Final = 0.1
_ASK_ANOTHER: Final = (ErrorCode.NOT_CONTROLLER, ErrorCode.AUTHORIZER_NOT_READY)


class NoAnswerInTime(InvalidRequest):
    code = ErrorCode.REQUEST_TIMED_OUT


class ForwardingRefused(InvalidRequest):
    """The controller refuses Envelopes from this node. The client cannot change that."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


class Forwarder:
    """Forwards requests. Each try calls ``controllers`` for the list. The first try of a request
    goes to the controller that answered last. ``check`` gets each new connection and a time limit
    in seconds, and raises ``InvalidRequest`` if the connection must not be used."""

    def __init__(
        self,
        controllers: Callable[[], Sequence[Address]],
        settings: ClientSettings,
        check: Callable[[Connection, float], object] = lambda connection, timeout_s: None,
    ) -> None:
        self._check = check
        self._controllers = controllers
        self.settings = settings
        """For new connections."""
        self._index = 0
        self._is_closing = Event()
        self._idle: LifoQueue[Connection] = LifoQueue()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="metalog-forward")

    def forward(self, request: bytes, principal: KafkaPrincipal, address: bytes) -> Future[bytes]:
        """A future of the response with its header, ready for the client; or of ``NoAnswerInTime``
        or ``ForwardingRefused``. ``address`` is the client's IP address."""
        deadline = time.monotonic() + self.settings.request_timeout_s
        return self._threads.submit(self._until_answered, request, principal, address, deadline)

    def close(self) -> None:
        """Stop waiting for answers, then close the connections."""
        self._is_closing.set()
        self._threads.shutdown(wait=True, cancel_futures=True)
        while (connection := self._idle_connection()) is not None:
            connection.close()

    def _until_answered(
        self, request: bytes, principal: KafkaPrincipal, address: bytes, deadline: float
    ) -> bytes:
        trouble = "no controller was tried"
        while (left := deadline - time.monotonic()) > 0 and not self._is_closing.is_set():
            index = self._index
            try:
                answered = self._answer(request, principal, address, left)
            except InvalidRequest as error:
                trouble = str(error)
            else:
                if answered.response is not None:
                    return answered.response
                if answered.code not in _ASK_ANOTHER:
                    raise _refused(answered.code)
                trouble = f"the controller answers {error_name(answered.code)}"
            if self._index == index:
                self._index = index + 1
            self._is_closing.wait(min(_PAUSE_S, max(left, 0)))
        _log.warning("a request could not be forwarded in time: %s", trouble)
        raise NoAnswerInTime(f"no controller answered in time: {trouble}")

    def _answer(
        self, request: bytes, principal: KafkaPrincipal, address: bytes, left: float
    ) -> ForwardedAnswer:
        known = self._controllers()
        if not known:
            raise NoAnswerInTime("no controller is known yet")
        wanted = known[self._index % len(known)]
        connection = self._idle_connection()
        if connection is not None and connection.address != wanted:
            connection.close()
            connection = None
        is_new = connection is None
        if connection is None:
            connection = Connection(
                wanted, self.settings, is_wanted=lambda: self._is_worth_waiting_for(wanted)
            )
        try:
            if is_new:
                self._check(connection, left)
            version = connection.version(ENVELOPE, VERSIONS)
            sealed = seal(version, request, principal, address)
            answered = unsealed_answer(connection.ask(sealed, left))
        except BaseException:
            connection.close()
            raise
        self._idle.put(connection)
        return answered

    def _is_worth_waiting_for(self, controller: Address) -> bool:
        return not self._is_closing.is_set() and controller in self._controllers()

    def _idle_connection(self) -> Connection | None:
        try:
            return self._idle.get_nowait()
        except Empty:
            return None


def _refused(code: int) -> ForwardingRefused:
    _log.error(
        "the controller refuses this node's Envelopes: %s;"
        " this node's principal needs CLUSTER_ACTION",
        error_name(code),
    )
    return ForwardingRefused("the controller rejected the forwarded request")

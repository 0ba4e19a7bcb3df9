"""Forwards requests, byte for byte, from a program that embeds a ``Node`` to a real broker.

A connection carries one request at a time. ``Upstream`` never sends a request twice, so
``Upstream`` first checks that the broker has not closed the connection.
This module must not know what a request is about, nor who may send it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from metalog.hosts.host_port import parse_addresses
from metalog.wire.frames import FrameReader, framed
from metalog.wire.messages import read_response
from metalog.wire.schema import Body, response_type
from metalog_node.handlers.request import IncomingRequest

R = TypeVar("R")

_MOST_IN_FLIGHT: Final = 32
_TIMEOUT_S: Final = 40.0
_CHUNK: Final = 1 << 16


class Upstream:
    """Connections to one broker. Close this object at the end.

    Args:
        address: the broker's ``HOST:PORT``; connections use neither TLS nor a login.
    """

    def __init__(self, address: str) -> None:
        self._address = parse_addresses(address)[0]
        self._threads = ThreadPoolExecutor(_MOST_IN_FLIGHT, thread_name_prefix="metalog-upstream")
        self._lock = threading.Lock()
        self._idle: list[socket.socket] = []

    def ask(self, incoming: IncomingRequest) -> Future[bytes]:
        """Forward a request.

        Args:
            incoming: the request, as a handler of a ``HandledApi`` gets it.

        Returns:
            A future of the response's bytes, or of an ``OSError`` if the broker does not answer.
        """
        return self._threads.submit(self._ask, incoming.payload)

    def ask_and(self, incoming: IncomingRequest, then: Callable[[Body], R]) -> Future[R]:
        """Forward a request, and convert the response.

        Args:
            incoming: the request, as a handler of a ``HandledApi`` gets it.
            then: converts the response, an object of the library kio. A thread of this object
                calls ``then``.

        Returns:
            A future of the result of ``then``.
        """
        head = incoming.request.head

        def converted() -> R:
            answer = self._ask(incoming.payload)
            return then(read_response(answer, response_type(head.api_key, head.version)))

        return self._threads.submit(converted)

    def close(self) -> None:
        """Wait for the requests in flight, and close the connections."""
        self._threads.shutdown(cancel_futures=True)
        while self._idle:
            self._idle.pop().close()

    def _ask(self, payload: bytes) -> bytes:
        connection = self._connection()
        try:
            connection.sendall(framed(payload))
            answer = self._answer(connection)
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)
        return answer

    def _connection(self) -> socket.socket:
        while True:
            with self._lock:
                idle = self._idle.pop() if self._idle else None
            if idle is None:
                return socket.create_connection(self._address, _TIMEOUT_S)
            if _is_open(idle):
                return idle
            idle.close()

    def _answer(self, connection: socket.socket) -> bytes:
        frames = FrameReader()
        while True:
            data = connection.recv(_CHUNK)
            if not data:
                raise ConnectionError(f"{self._address} closed the connection")
            if answers := list(frames.feed(data)):
                return answers[0]


def _is_open(idle: socket.socket) -> bool:
    idle.setblocking(False)
    try:
        idle.recv(1)
    except BlockingIOError:
        idle.settimeout(_TIMEOUT_S)
        return True
    except OSError:
        return False
    return False

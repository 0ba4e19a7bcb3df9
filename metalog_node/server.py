"""Sockets: a listener's clients are read, answered in order, and let go.

Each connection is one task; a client's next request is read when the last one is answered, so
that nobody makes the node hold more than one request of theirs. What ends a connection is
logged with its reason. Everything is decided elsewhere: by ``connection`` and the handlers.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from ipaddress import ip_address
from typing import Any, Final, NamedTuple

from authorizer.api import RequestContext
from metalog.errors import InvalidRequest
from metalog.principal import KafkaPrincipal
from metalog.wire.frames import framed
from metalog.wire.hosts import Address, host_text
from metalog.wire.messages import write_response
from metalog.wire.schema import Body
from metalog.wire.versions import Versions
from metalog_node.apis import spoken
from metalog_node.authentication import Logins
from metalog_node.connection import Asked, ServerConnection
from metalog_node.handlers.question import Answer, Api, Question, Services, answer
from metalog_node.listeners import Listener
from metalog_node.metrics import Metrics
from metalog_node.principals import Rule, principal_of

_log = logging.getLogger(__name__)

ANONYMOUS: Final = KafkaPrincipal("User", "ANONYMOUS")
_CHUNK: Final = 4 << 10
"""What is read at once. asyncio holds up to two more of it, and as much of what the client is
slow to take."""
_TOO_SLOW: Final = "idle for too long, or too slow to take its answer"
_LOGIN_S: Final = 15.0
"""How long a client may take until it is known: for TLS, and for SASL again."""
_TLS_PATIENCE: Final = {"ssl_handshake_timeout": _LOGIN_S, "ssl_shutdown_timeout": 5.0}


class Seats:
    """Clients of all listeners together, at most ``most``. For one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0

    def take(self) -> bool:
        """False where there is none left."""
        if self._taken >= self._most:
            return False
        self._taken += 1
        return True

    def leave(self) -> None:
        self._taken -= 1


class Door(NamedTuple):
    """How a listener admits clients. ``logins`` is None where nobody logs in, ``tls`` None
    where nothing is encrypted; ``mapping_rules`` name the owner of a certificate."""

    listener: Listener
    apis: Mapping[int, Api]
    logins: Logins | None
    tls: ssl.SSLContext | None
    mapping_rules: Sequence[Rule]
    most_bytes: int
    idle_s: float
    metrics: Metrics
    seats: Seats


class OpenListener:
    """A listener that is open; ``address`` is where it is bound."""

    def __init__(self, door: Door, services: Services) -> None:
        self._door = door
        self._spoken = spoken(door.apis)
        self._services = services
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> Address:
        """``InvalidRequest`` where the address cannot be bound."""
        listener = self._door.listener
        try:
            self._server = await asyncio.start_server(
                self._serve,
                listener.host or None,
                listener.port,
                ssl=self._door.tls,
                limit=_CHUNK,
                backlog=1024,
                **({} if self._door.tls is None else _TLS_PATIENCE),
            )
        except OSError as error:
            why = str(error) if error.errno is None else os.strerror(error.errno)
            raise InvalidRequest(
                f"listener {listener.name}: {listener.host}:{listener.port} cannot be opened: {why}"
            ) from None
        bound = self._server.sockets[0].getsockname()
        return Address(bound[0], bound[1])

    @property
    def clients(self) -> int:
        """How many are connected."""
        return len(self._tasks)

    async def close(self) -> None:
        """Take no more clients, and let go of those that are there."""
        if self._server is None:
            return
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a connection is served by a task")
        if not self._door.seats.take():
            _log.warning(
                "%s: connection closed: there are max.connections already", self._door.listener.name
            )
            writer.close()
            return
        self._tasks.add(task)
        try:
            await _Client(self._door, self._spoken, self._services, reader, writer).serve()
        except InvalidRequest as error:
            self._door.metrics.count_failed_login(self._door.listener.name)
            _log.info("%s: connection closed: %s", self._door.listener.name, error)
        except asyncio.CancelledError:
            _log.debug("a client is let go: the node is closing")
        finally:
            self._tasks.discard(task)
            self._door.seats.leave()
            writer.close()


class _Client:
    def __init__(
        self,
        door: Door,
        versions: Versions,
        services: Services,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._door = door
        self._services = services
        self._reader = reader
        self._writer = writer
        self._host = _host_of(writer)
        writer.transport.set_write_buffer_limits(high=_CHUNK)
        self._connection = ServerConnection(
            versions,
            logins=door.logins,
            principal=_certified(door, writer),
            most_bytes=door.most_bytes,
        )

    async def serve(self) -> None:
        known_by = asyncio.get_running_loop().time() + _LOGIN_S
        try:
            while not self._connection.is_over:
                idle_until = asyncio.get_running_loop().time() + self._door.idle_s
                is_known = self._connection.principal is not None
                async with asyncio.timeout_at(
                    idle_until if is_known else min(known_by, idle_until)
                ):
                    data = await self._reader.read(_CHUNK)
                if not data:
                    return
                for step in self._connection.receive(data):
                    await self._send(step if isinstance(step, bytes) else await self._answer(step))
        except InvalidRequest as error:
            self._note(str(error))
        except TimeoutError:
            is_known = self._connection.principal is not None
            self._note(_TOO_SLOW if is_known else "too slow to say who it is")
        except (ConnectionError, ssl.SSLError) as error:
            _log.debug("%s: %s: gone: %s", self._door.listener.name, self._host, error)
        except Exception:
            _log.exception("%s: %s: closed by a fault", self._door.listener.name, self._host)
        if self._connection.failed_login is not None:
            self._door.metrics.count_failed_login(self._door.listener.name)
            self._note(f"login refused: {self._connection.failed_login.reason}")

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        async with asyncio.timeout(self._door.idle_s):
            await self._writer.drain()

    async def _answer(self, asked: Asked) -> bytes:
        head = asked.request.head
        api = self._door.apis[head.api_key]
        context = RequestContext(
            self._connection.principal or ANONYMOUS,
            self._host,
            self._door.listener.name,
            api.name,
        )
        question = Question(
            asked.request,
            asked.payload,
            context,
            self._door.listener,
            is_encrypted=self._door.tls is not None,
        )
        answered = await _settled(answer(api, self._services, question))
        self._door.metrics.count_answer(api.name, answered)
        if isinstance(answered, bytes):
            return framed(answered)
        return framed(write_response(answered, head.correlation_id))

    def _note(self, why: str) -> None:
        _log.info("%s: %s: connection closed: %s", self._door.listener.name, self._host, why)


async def _settled(answered: Answer) -> Body | bytes:
    if isinstance(answered, Future):
        done: Any = await asyncio.wrap_future(answered)
        return done
    return answered


def _host_of(writer: asyncio.StreamWriter) -> str:
    """The client's address in Java's text."""
    peer = writer.get_extra_info("peername")
    return host_text(ip_address(str(peer[0]).partition("%")[0]).packed)


def _certified(door: Door, writer: asyncio.StreamWriter) -> KafkaPrincipal:
    """Who the client's certificate says it is; nobody where it showed none."""
    tls = writer.get_extra_info("ssl_object")
    certificate = None if tls is None else tls.getpeercert(binary_form=True)
    if certificate is None:
        return ANONYMOUS
    principal = principal_of(certificate, door.mapping_rules)
    if principal is None:
        raise InvalidRequest("no rule of ssl.principal.mapping.rules takes its certificate's name")
    return principal

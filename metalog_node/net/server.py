"""A listener: accepts connections within the quotas, and serves each in its own task.

The TLS handshake runs in the client's task, within a time limit. The module ``client`` and the
handlers decide about requests.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from functools import partial
from typing import Final

from metalog.errors import InvalidRequest
from metalog.hosts.client_host import peer_host
from metalog.hosts.host_port import Address, socket_error_text
from metalog_node.apis import announced_versions
from metalog_node.handlers.request import Services
from metalog_node.net.client import CHUNK, Client, ListenerContext
from metalog_node.net.tls_stream import Encrypted

_log = logging.getLogger(__name__)

_BACKLOG: Final = 1024
_HANDSHAKE_S: Final = 15.0
"""How long a whole TLS handshake may take, in seconds."""
_ANSWERED_WITHIN_S: Final = 5.0
"""How long ``close`` waits for answers under way, in seconds."""
_NO_ROOM: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE_S: Final = 1.0
_NEW_CLIENTS: Final = "new clients"
"""The owner, in the loop's budget, of the work that accepts clients."""


class OpenListener:
    def __init__(self, context: ListenerContext, services: Services) -> None:
        self._context = context
        self._services = services
        self._sockets: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._clients: dict[asyncio.Task[None], Client | None] = {}

    async def open(self) -> Address:
        """Open the listener and return its address; ``InvalidRequest`` if it cannot be bound."""
        listener = self._context.listener
        try:
            self._sockets = await _bound(listener.host, listener.port)
        except (OSError, UnicodeError) as error:
            raise InvalidRequest(
                f"listener {listener.name}: {Address(listener.host, listener.port)} cannot be "
                f"opened: {socket_error_text(error)}"
            ) from None
        self._accepting = [
            asyncio.create_task(self._accept(listening)) for listening in self._sockets
        ]
        host, port, *_ = self._sockets[0].getsockname()
        return Address(host, port)

    @property
    def clients(self) -> int:
        """The number of connected clients."""
        return len(self._clients)

    async def close(self) -> None:
        """Accept no more clients, answer the requests under way, and disconnect all clients."""
        for accepting in self._accepting:
            accepting.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        for listening in self._sockets:
            listening.close()
        leaving = list(self._clients)
        for task, client in list(self._clients.items()):
            if client is None or not client.leave():
                task.cancel()
        if not leaving:
            return
        _, late = await asyncio.wait(leaving, timeout=_ANSWERED_WITHIN_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*leaving, return_exceptions=True)

    async def _accept(self, listening: socket.socket) -> None:
        loop, name = asyncio.get_running_loop(), self._context.listener.name
        while True:
            await self._context.budget.turn(_NEW_CLIENTS)
            try:
                connected, peer = await loop.sock_accept(listening)
            except OSError as error:
                _log.warning("%s: a client cannot be accepted: %s", name, _text(error))
                await asyncio.sleep(_PAUSE_S if error.errno in _NO_ROOM else 0)
                continue
            host = peer_host(peer)
            exhausted = self._context.quotas.take(name, host)
            if exhausted is not None:
                self._context.refusals.note(name, host, f"at the limit of {exhausted}")
                connected.close()
                continue
            task = asyncio.create_task(self._serve(connected, host))
            self._clients[task] = None

    async def _serve(self, connected: socket.socket, host: str) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a connection must be served by a task")
        try:
            reader, writer = await self._streams(connected)
            try:
                encrypted = await self._encrypted(reader, writer, host)
                client = Client(
                    self._context,
                    announced_versions(self._context.apis, self._services.kafka),
                    self._services,
                    encrypted or reader,
                    encrypted or writer,
                    host,
                )
            except BaseException:
                writer.transport.abort()
                raise
            self._clients[task] = client
            await client.serve()
        except TimeoutError:
            self._note_refusal(host, InvalidRequest("TLS handshake failed: took too long"))
        except (OSError, InvalidRequest) as error:
            self._note_refusal(host, error)
        except asyncio.CancelledError:
            _log.debug("a client was disconnected: the node is closing")
        except Exception:
            _log.exception(
                "%s: %s: closed after an unexpected error", self._context.listener.name, host
            )
        finally:
            del self._clients[task]
            self._context.quotas.leave(self._context.listener.name, host)

    async def _streams(
        self, connected: socket.socket
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=CHUNK, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, connected)
        transport.set_write_buffer_limits(high=CHUNK)
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    async def _encrypted(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str
    ) -> Encrypted | None:
        if self._context.tls is None:
            return None
        on_loop = partial(self._context.budget.run, (None, host))
        encrypted = Encrypted(self._context.tls.context, reader, writer, on_loop)
        async with asyncio.timeout(_HANDSHAKE_S):
            await encrypted.handshake()
        return encrypted

    def _note_refusal(self, host: str, error: Exception) -> None:
        """Log and count a refused connection. A disconnected client is ignored: perhaps it only
        tested whether the port is open."""
        name = self._context.listener.name
        if isinstance(error, (ConnectionResetError, BrokenPipeError)):
            _log.debug("%s: %s: the client has disconnected", name, host)
            return
        self._context.metrics.count_failed_login(name)
        why = f"TLS handshake failed: {_text(error)}" if isinstance(error, OSError) else str(error)
        self._context.refusals.note(name, host, why)


async def _bound(host: str, port: int) -> list[socket.socket]:
    """A socket for each address of ``host``, all on one port. As in Java, ``::`` as the only
    address accepts IPv4, too."""
    resolved = await asyncio.get_running_loop().getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    bound: list[socket.socket] = []
    try:
        addresses = dict.fromkeys(resolved)
        for family, kind, protocol, _, address in addresses:
            listening = socket.socket(family, kind, protocol)
            bound.append(listening)
            listening.setblocking(False)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, len(addresses) > 1)
            listening.bind((address[0], bound[0].getsockname()[1] or port, *address[2:]))
            listening.listen(_BACKLOG)
    except BaseException:
        for listening in bound:
            listening.close()
        raise
    return bound


def _text(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "the client closed the connection").replace("_", " ").lower()
    return socket_error_text(error)

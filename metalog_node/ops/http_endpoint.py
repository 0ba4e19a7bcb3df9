"""The HTTP listener for operators' tools: metrics and two probes.

It answers only GET, one request per connection, and shows nothing secret. It has its own thread, so
that it answers while the node is busy. When all connections are taken, a new connection displaces
the oldest one that has not sent a whole request. This module must not know what is measured, nor
when a node is ready.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from threading import Thread
from typing import Any, Final, NamedTuple, TypeVar

from metalog.errors import InvalidRequest
from metalog.hosts.host_port import Address, socket_error_text

_log = logging.getLogger(__name__)

PLAIN_TEXT: Final = "text/plain; charset=utf-8"
_LONGEST_HEAD: Final = 8 << 10
_REQUEST_S: Final = 2.0
"""How long a client may take to send its request, in seconds."""
_ANSWER_S: Final = 10.0
"""How long a client may take to receive the answer, in seconds."""
_MOST_CLIENTS: Final = 64
_BACKLOG: Final = 16
"""How many clients asyncio accepts in one round of the event loop. With many more, new clients
would displace a connection before its request is read."""

R = TypeVar("R")


class Page(NamedTuple):
    body: bytes
    status: HTTPStatus = HTTPStatus.OK
    content_type: str = PLAIN_TEXT


def text_page(is_well: bool, text: str) -> Page:
    status = HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE
    return Page(f"{text}\n".encode(), status)


class HttpEndpoint:
    """Serves ``pages``: a function for each path, called on the endpoint's thread. Messages name
    ``named``, the option or key of the address."""

    def __init__(
        self, pages: Mapping[str, Callable[[], Page]], *, named: str = "metrics.listener"
    ) -> None:
        self._pages = pages
        self._named = named
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._silent: dict[asyncio.StreamWriter, None] = {}
        """Connections without a whole request yet, the oldest first."""
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="metalog-watch", daemon=True)

    async def open(self, address: Address) -> Address:
        """Open the listener and return its address; ``InvalidRequest`` if it cannot be bound."""
        self._thread.start()
        return await self._on_own_loop(self._open(address))

    async def close(self) -> None:
        if self._thread.is_alive():
            await self._on_own_loop(self._close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    async def _on_own_loop(self, work: Coroutine[Any, Any, R]) -> R:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _open(self, address: Address) -> Address:
        try:
            self._server = await asyncio.start_server(
                self._serve,
                address.host or None,
                address.port,
                limit=_LONGEST_HEAD,
                backlog=_BACKLOG,
            )
        except (OSError, UnicodeError) as error:
            why = socket_error_text(error)
            raise InvalidRequest(f"{self._named}: {address} cannot be opened: {why}") from None
        host, port, *_ = self._server.sockets[0].getsockname()
        return Address(host, port)

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or not self._make_room():
            writer.transport.abort()
            return
        self._tasks.add(task)
        self._silent[writer] = None
        try:
            await self._answer_one(reader, writer)
        finally:
            self._tasks.discard(task)
            self._silent.pop(writer, None)
            writer.transport.abort()

    def _make_room(self) -> bool:
        """Close the oldest silent connection if necessary; return whether there is room."""
        if len(self._tasks) < _MOST_CLIENTS:
            return True
        oldest = next(iter(self._silent), None)
        if oldest is None:
            return False
        del self._silent[oldest]
        oldest.transport.abort()
        return True

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_S):
                head = await reader.readuntil(b"\r\n\r\n")
            self._silent.pop(writer, None)
            async with asyncio.timeout(_ANSWER_S):
                writer.write(_response(self._answer(head)))
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            _log.debug("%s: a client was disconnected: %s", self._named, error)
        except ConnectionError as error:
            _log.debug("%s: a client disconnected: %s", self._named, error)
        except Exception:
            _log.exception("%s: closed after an unexpected error", self._named)

    def _answer(self, head: bytes) -> Page:
        method, _, rest = head.partition(b" ")
        if method != b"GET":
            return Page(b"only GET is answered here\n", HTTPStatus.METHOD_NOT_ALLOWED)
        target = rest.partition(b" ")[0].decode("ascii", "replace").partition("?")[0]
        page = self._pages.get(target)
        if page is None:
            known = " ".join(self._pages)
            return Page(f"no such page; the pages are {known}\n".encode(), HTTPStatus.NOT_FOUND)
        return page()


def _response(page: Page) -> bytes:
    head = (
        f"HTTP/1.1 {page.status.value} {page.status.phrase}\r\n"
        f"Content-Type: {page.content_type}\r\n"
        f"Content-Length: {len(page.body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode("ascii") + page.body

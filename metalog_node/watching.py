"""The listener that operators' tools read: metrics, and two probes, over HTTP.

It answers GET alone, one request a connection, and knows nothing that is secret. This module
must not know what is measured, nor what ready means.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Final, NamedTuple

from metalog.errors import InvalidRequest
from metalog.wire.hosts import Address

_log = logging.getLogger(__name__)

PLAIN_TEXT: Final = "text/plain; charset=utf-8"
_LONGEST_HEAD: Final = 8 << 10
_PATIENCE_S: Final = 10.0
_MOST_CLIENTS: Final = 64


class Page(NamedTuple):
    body: bytes
    status: HTTPStatus = HTTPStatus.OK
    content_type: str = PLAIN_TEXT


def text_page(is_well: bool, text: str) -> Page:
    status = HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE
    return Page(f"{text}\n".encode(), status)


class WatchListener:
    """``pages`` has a function for each path; ``address`` is where it is bound once open."""

    def __init__(self, pages: Mapping[str, Callable[[], Page]]) -> None:
        self._pages = pages
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, asked: Address) -> Address:
        """``InvalidRequest`` where the address cannot be bound."""
        try:
            self._server = await asyncio.start_server(
                self._serve, asked.host or None, asked.port, limit=_LONGEST_HEAD
            )
        except OSError as error:
            why = str(error) if error.errno is None else os.strerror(error.errno)
            raise InvalidRequest(f"metrics.listener: {asked} cannot be opened: {why}") from None
        host, port, *_ = self._server.sockets[0].getsockname()
        return Address(host, port)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            for each in self._tasks:
                each.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(self._tasks) >= _MOST_CLIENTS:
            writer.close()
            return
        self._tasks.add(task)
        try:
            await self._answer_one(reader, writer)
        finally:
            self._tasks.discard(task)

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_response(self._answer(head)))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            _log.debug("metrics.listener: a client is let go: %s", error)
        except ConnectionError as error:
            _log.debug("metrics.listener: a client is gone: %s", error)
        except Exception:
            _log.exception("metrics.listener: closed by a fault")
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    def _answer(self, head: bytes) -> Page:
        method, _, rest = head.partition(b" ")
        if method != b"GET":
            return Page(b"only GET is answered here\n", HTTPStatus.METHOD_NOT_ALLOWED)
        target = rest.partition(b" ")[0].decode("ascii", "replace").partition("?")[0]
        page = self._pages.get(target)
        if page is None:
            known = " ".join(self._pages)
            return Page(f"there are {known}\n".encode(), HTTPStatus.NOT_FOUND)
        return page()


def _response(page: Page) -> bytes:
    head = (
        f"HTTP/1.1 {page.status.value} {page.status.phrase}\r\n"
        f"Content-Type: {page.content_type}\r\n"
        f"Content-Length: {len(page.body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode("ascii") + page.body

"""The server's side of TLS on a stream, with as little memory as possible.

OpenSSL allocates up to 128 KiB as soon as a handshake message announces its length. So this module
checks the length first. asyncio's own TLS keeps 256 KiB for every connection. This module must not
know who a client is, nor when it is too slow.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from metalog.wire.frames import Malformed

MOST_MESSAGE_BYTES: Final = 16 << 10
"""The longest unencrypted message of a client. A ClientHello has approximately 2 KiB."""

_PIECE: Final = 4 << 10
_ANSWER_PIECE: Final = 64 << 10
_RECORD_HEAD: Final = 5
_MESSAGE_HEAD: Final = 4
_MOST_IN_A_RECORD: Final = (16 << 10) + 256
_MAJOR: Final = 3
_CHANGE_CIPHER_SPEC, _, _HANDSHAKE, _APPLICATION_DATA = range(20, 24)
_RETRY: Final = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""The random of a ServerHello that requests a second ClientHello (RFC 8446, 4.1.3)."""


class Encrypted:
    """A stream that replaces ``reader`` and ``writer`` after ``handshake`` has returned.
    ``on_loop`` runs OpenSSL's computations within the event loop's budget."""

    def __init__(
        self,
        context: ssl.SSLContext,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_loop: Callable[..., Awaitable[Any]],
    ) -> None:
        self.transport = writer.transport
        self._reader = reader
        self._writer = writer
        self._on_loop = on_loop
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._is_unencrypted = True
        self._is_retried = False
        self._head = b""
        self._rest = 0

    async def handshake(self) -> None:
        """Raises ``Malformed`` if the input is not TLS or is too long, ``ssl.SSLError`` if OpenSSL
        refuses the input, ``ConnectionError`` if the client is gone."""
        while not await self._on_loop(self._continue_handshake):
            await self._send()
            await self._take_record()
        await self._send()

    def get_extra_info(self, name: str) -> Any:
        return self._tls if name == "ssl_object" else self._writer.get_extra_info(name)

    async def read(self, most: int) -> bytes:
        """At most ``most`` bytes; empty if the client has closed the connection."""
        while True:
            data: bytes | None = await self._on_loop(self._decrypted, most)
            if data is not None:
                return data
            await self._send()
            received = await self._reader.read(most)
            if not received:
                return b""
            self._incoming.write(received)

    def write(self, data: bytes) -> None:
        for begin in range(0, len(data), _ANSWER_PIECE):
            left = memoryview(data)[begin : begin + _ANSWER_PIECE]
            while left:
                left = left[self._tls.write(left) :]
            self._writer.write(self._outgoing.read())

    async def drain(self) -> None:
        await self._writer.drain()

    def close(self) -> None:
        """Send TLS's close message, without waiting for the client's."""
        with suppress(ssl.SSLError):
            self._tls.unwrap()
        if self._outgoing.pending:
            self._writer.write(self._outgoing.read())
        self._writer.close()

    async def wait_closed(self) -> None:
        await self._writer.wait_closed()

    def _decrypted(self, most: int) -> bytes | None:
        try:
            return self._tls.read(most)
        except ssl.SSLWantReadError:
            return None
        except ssl.SSLZeroReturnError:
            return b""

    def _continue_handshake(self) -> bool:
        """Whether the handshake is done."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError:
            self._writer.write(self._outgoing.read())
            raise
        return True

    async def _send(self) -> None:
        if self._outgoing.pending:
            data = self._outgoing.read()
            self._is_retried = self._is_retried or _RETRY in data
            self._writer.write(data)
            await self._writer.drain()

    async def _take_record(self) -> None:
        try:
            head = await self._reader.readexactly(_RECORD_HEAD)
        except asyncio.IncompleteReadError:
            raise ConnectionResetError from None
        kind, major, size = head[0], head[1], int.from_bytes(head[3:], "big")
        if not _CHANGE_CIPHER_SPEC <= kind <= _APPLICATION_DATA or major != _MAJOR:
            raise Malformed("TLS handshake failed: the client speaks another protocol")
        if size > _MOST_IN_A_RECORD:
            raise Malformed(f"TLS handshake failed: a record of {size} bytes is too long")
        if kind == _CHANGE_CIPHER_SPEC and not self._is_retried:
            self._is_unencrypted = False
        self._incoming.write(head)
        while size:
            piece = await self._reader.read(min(size, _PIECE))
            if not piece:
                raise ConnectionResetError
            if kind == _HANDSHAKE and self._is_unencrypted:
                self._check_lengths(piece)
            self._incoming.write(piece)
            size -= len(piece)

    def _check_lengths(self, piece: bytes) -> None:
        """Check the length of each handshake message whose header ends in ``piece``."""
        while piece:
            if self._rest:
                self._rest, piece = max(self._rest - len(piece), 0), piece[self._rest :]
                continue
            wanted = _MESSAGE_HEAD - len(self._head)
            self._head, piece = self._head + piece[:wanted], piece[wanted:]
            if len(self._head) == _MESSAGE_HEAD:
                self._rest, self._head = int.from_bytes(self._head[1:], "big"), b""
                if self._rest > MOST_MESSAGE_BYTES:
                    raise Malformed(
                        f"TLS handshake failed: a message of {self._rest} bytes, but at most"
                        f" {MOST_MESSAGE_BYTES} are accepted"
                    )

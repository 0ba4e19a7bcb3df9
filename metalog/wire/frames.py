"""Frames of a connection: a length of four bytes, and a message of this length.

The reader refuses a length above its limit before the message arrives. This module must not know
what a message contains.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from metalog.errors import InvalidRequest

LENGTH_BYTES: Final = 4
_HTTP: Final = b"HTTP"
DEFAULT_LIMIT: Final = 100 << 20
"""Kafka's default for ``socket.request.max.bytes``."""


class Malformed(InvalidRequest):
    """Invalid bytes from a peer; the connection must be closed."""


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(LENGTH_BYTES, "big") + payload


class FrameReader:
    """Splits bytes into frames of at most ``limit`` bytes. A caller may change ``limit``."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self._buffer = bytearray()

    def beginning(self, most: int) -> tuple[int, bytes]:
        """The length of the incomplete frame, and the frame's first bytes (at most ``most``).

        The result is 0 and no bytes if the length is incomplete.
        """
        if len(self._buffer) < LENGTH_BYTES:
            return 0, b""
        size = int.from_bytes(self._buffer[:LENGTH_BYTES], "big", signed=True)
        return size, bytes(self._buffer[LENGTH_BYTES : LENGTH_BYTES + most])

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The frames that ``data`` completes, each cut off when the caller takes it; ``Malformed``
        at an impossible length, after the frames before it."""
        self._buffer += data
        return self._complete_frames()

    def _complete_frames(self) -> Iterator[bytes]:
        while len(self._buffer) >= LENGTH_BYTES:
            size = int.from_bytes(self._buffer[:LENGTH_BYTES], "big", signed=True)
            if not 0 <= size <= self.limit:
                is_http = self._buffer[:LENGTH_BYTES] == _HTTP
                self._buffer.clear()
                raise Malformed(
                    "it is an HTTP server, not a Kafka listener; check the port"
                    if is_http
                    else f"a frame of {size} bytes, but at most {self.limit} are accepted"
                )
            if len(self._buffer) < LENGTH_BYTES + size:
                return
            yield self._cut(LENGTH_BYTES + size)

    def _cut(self, end: int) -> bytes:
        with memoryview(self._buffer) as whole:
            frame = bytes(whole[LENGTH_BYTES:end])
        del self._buffer[:end]
        return frame

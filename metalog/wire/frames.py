"""Frames of a connection: a length of four bytes, and a message of this length.

The reader refuses a length above its limit before the message arrives. This module must not know
what a message contains.
"""

from __future__ import annotations

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

    def feed(self, data: bytes) -> list[bytes]:
        """The frames that ``data`` completes; ``Malformed`` at an impossible length."""
        self._buffer += data
        frames, at = [], 0
        while len(self._buffer) - at >= LENGTH_BYTES:
            begin = at + LENGTH_BYTES
            size = int.from_bytes(self._buffer[at:begin], "big", signed=True)
            if not 0 <= size <= self.limit:
                is_http = self._buffer[at:begin] == _HTTP
                self._buffer.clear()
                raise Malformed(
                    "it is an HTTP server, not a Kafka listener; check the port"
                    if is_http
                    else f"a frame of {size} bytes, but at most {self.limit} are accepted"
                )
            if len(self._buffer) < begin + size:
                break
            with memoryview(self._buffer) as whole:
                frames.append(bytes(whole[begin : begin + size]))
            at = begin + size
        del self._buffer[:at]
        return frames

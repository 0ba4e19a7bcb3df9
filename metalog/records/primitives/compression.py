"""Inflates Kafka's compressed record batches, with a limit on the result.

Kafka uses xerial's framing for snappy and the frame format for lz4; gzip and zstd are plain
streams. Neither Kafka's controllers nor we write compressed batches, so this module does not
compress. This module must not know batches.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Final

NONE: Final = "none"
NAMES: Final = (NONE, "gzip", "snappy", "lz4", "zstd")
"""The names of the compressions; the index is the code in a batch's attributes."""

MAX_INFLATED: Final = 64 << 20
"""In bytes, for one batch: eight times Kafka's largest batch."""
_MAX_RATIO: Final = 64
_ALWAYS_ALLOWED: Final = 1 << 20
"""In bytes. A small batch must not inflate to much more, because one inflated byte can take
approximately forty bytes of memory after decoding."""

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
_XERIAL_HEADER: Final = 16
_BLOCK_SIZE: Final = struct.Struct(">i")


def most_inflated(size: int) -> int:
    """The maximum inflated size, in bytes, of ``size`` bytes of compressed records."""
    return min(MAX_INFLATED, max(_ALWAYS_ALLOWED, _MAX_RATIO * size))


def inflate(compression: str, data: bytes, limit: int = MAX_INFLATED) -> bytes:
    """``ValueError`` if ``data`` is damaged, or inflates to more than ``limit`` bytes."""
    try:
        return _INFLATERS[compression](data, limit)
    except Exception as error:  # the errors of zlib and cramjam have no other common base
        raise ValueError(f"{compression} data that cannot be inflated: {error}") from None


def _too_large(limit: int) -> ValueError:
    return ValueError(f"the batch inflates to more than {limit} bytes")


def _gzip(data: bytes, limit: int) -> bytes:
    stream = zlib.decompressobj(wbits=31)
    inflated = stream.decompress(data, limit + 1)
    if len(inflated) > limit:
        raise _too_large(limit)
    if not stream.eof or stream.unused_data:
        raise ValueError("it ends too early, or bytes follow its end")
    return inflated


def _snappy(data: bytes, limit: int) -> bytes:
    from cramjam import snappy

    if not data.startswith(_XERIAL_MAGIC):
        if snappy.decompress_raw_len(data) > limit:
            raise _too_large(limit)
        return bytes(snappy.decompress_raw(data))
    inflated = bytearray()
    at = _XERIAL_HEADER
    while at < len(data):
        if at + _BLOCK_SIZE.size > len(data):
            raise ValueError("it ends inside a block's length")
        size: int = _BLOCK_SIZE.unpack_from(data, at)[0]
        at += _BLOCK_SIZE.size
        if not 0 < size <= len(data) - at:
            raise ValueError(f"a block of {size} bytes, but only {len(data) - at} are left")
        block = data[at : at + size]
        if len(inflated) + snappy.decompress_raw_len(block) > limit:
            raise _too_large(limit)
        inflated += bytes(snappy.decompress_raw(block))
        at += size
    return bytes(inflated)


def _lz4(data: bytes, limit: int) -> bytes:
    from cramjam import lz4

    return _into_growing(lz4.decompress_into, data, limit)


def _zstd(data: bytes, limit: int) -> bytes:
    from cramjam import zstd

    return _into_growing(zstd.decompress_into, data, limit)


def _into_growing(into: Callable[[bytes, bytearray], int], data: bytes, limit: int) -> bytes:
    room = min(max(4 * len(data), 4096), limit)
    while True:
        out = bytearray(room)
        try:
            return bytes(out[: into(data, out)])
        except Exception as error:
            if room >= limit:
                raise ValueError(f"not a frame of at most {limit} bytes: {error}") from None
            room = min(4 * room, limit)


_INFLATERS: Final[dict[str, Callable[[bytes, int], bytes]]] = {
    "gzip": _gzip,
    "snappy": _snappy,
    "lz4": _lz4,
    "zstd": _zstd,
}

"""Finds the broker of an audit file, decompresses the file, and splits it into lines.

This module must not know Spark, nor what a line says.
"""

from __future__ import annotations

import bz2
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

import pyarrow as pa

from metalog.errors import InvalidRequest

BLOCK_BYTES: Final = 1 << 20
DAMAGED: Final = "the packed file is damaged"
LONGEST_LINE: Final = 1 << 20
SHOWN_BYTES: Final = 1_000
TOO_LONG: Final = f"longer than {LONGEST_LINE:,} bytes; the text is the line's beginning"
DAMAGE_ERRORS: Final = (zlib.error, EOFError, OSError)
GZIP_MAGIC: Final = b"\x1f\x8b"
_gzip_stream: Final = partial(zlib.decompressobj, 16 + zlib.MAX_WBITS)
_BZIP2_MAGIC: Final = b"BZh"
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_READ_BYTES: Final = 1 << 16
"""The compressed bytes of one read, as in Arrow's reads."""
_KAFKAS_NAME: Final = "kafka-authorizer"
BrokerPattern = re.Pattern[str] | None


class Block(NamedTuple):
    """Whole lines with their LFs; a file's last line can lack the LF. With a ``fault``, ``lines``
    is an incomplete line or empty."""

    lines: bytes
    fault: str | None = None


def broker_of(path: str, pattern: BrokerPattern) -> str:
    """The name of the broker that wrote the log ``path``.

    With ``pattern``, the name is the result of ``name_found``. Without a pattern, the name is the
    file's name up to the first dot. If this is ``kafka-authorizer``, which is Kafka's own name, the
    broker has the folder's name instead.

    Raises:
        InvalidRequest: ``pattern`` finds no name in ``path``.
    """
    if pattern is not None:
        name = name_found(pattern, path)
        if name is None:
            raise InvalidRequest(f"{path}: {pattern.pattern!r} finds no broker's name in this path")
        return name
    file = PurePosixPath(path)
    name = file.name.partition(".")[0]
    return file.parent.name if name == _KAFKAS_NAME else name or file.name


def name_found(pattern: re.Pattern[str], text: str) -> str | None:
    """The text that the first group of ``pattern`` matches. Without a group, the text that the
    whole pattern matches. None if nothing matches or the text is empty."""
    found = pattern.search(text)
    return None if found is None else found[min(pattern.groups, 1)] or None


def unpacked(content: pa.Buffer) -> Iterator[bytes]:
    """Yield the decompressed content in blocks. If the content is damaged, yield all data before
    the damage, then raise one of ``DAMAGE_ERRORS``."""
    magic = content[:4].to_pybytes()
    file = pa.BufferReader(content)
    if magic.startswith(GZIP_MAGIC):
        yield from _decompressed(content, partial(_Streams, _gzip_stream))
    elif magic.startswith(_BZIP2_MAGIC):
        yield from _decompressed(content, partial(_Streams, bz2.BZ2Decompressor))
    elif magic == _ZSTD_MAGIC:
        yield from _decompressed(content, _zstd_stream)
    else:
        yield from iter(lambda: file.read(BLOCK_BYTES), b"")


def _decompressed(content: pa.Buffer, stream_of: Callable[[Any], Any]) -> Iterator[bytes]:
    file, size = pa.BufferReader(content), 0
    stream = stream_of(file)
    try:
        while chunk := stream.read(BLOCK_BYTES):
            size += len(chunk)
            yield chunk
    except (OSError, zlib.error):
        end = file.tell()
        again = stream_of(_SlowFile(content.slice(0, end), end - _READ_BYTES))
        while size:
            size -= len(again.read(min(size, BLOCK_BYTES)))
        yield from _before_damage(iter(lambda: again.read(1), b""))
        raise


def _zstd_stream(file: Any) -> pa.NativeFile:
    return pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")


class _Streams:
    """Decompresses all streams in ``file``. Zeros between two streams are padding."""

    def __init__(self, new_unpacker: Callable[[], Any], file: Any) -> None:
        self._new_unpacker, self._file = new_unpacker, file
        self._unpacker, self._rest = new_unpacker(), b""

    def read(self, size: int) -> bytes:
        found = b""
        while not found:
            is_over = self._unpacker.eof
            if not self._rest and (is_over or getattr(self._unpacker, "needs_input", True)):
                self._rest = self._file.read(_READ_BYTES)
                if not self._rest and is_over:
                    break
                if not self._rest:
                    raise EOFError("the file ends too soon")
            if is_over:
                self._rest = self._rest.lstrip(b"\0")
                if not self._rest:
                    continue
                self._unpacker = self._new_unpacker()
            found = self._unpacker.decompress(self._rest, size)
            unread = getattr(self._unpacker, "unconsumed_tail", b"")
            self._rest = unread or self._unpacker.unused_data
        return found


class _SlowFile:
    """A file with ``content``. A read at offset ``slow_from`` or later returns one byte."""

    closed = False

    def __init__(self, content: pa.Buffer, slow_from: int) -> None:
        self._file = pa.BufferReader(content)
        self._slow_from = slow_from

    def read(self, size: int) -> bytes:
        before = self._slow_from - self._file.tell()
        return self._file.read(min(size, max(before, 1)))  # type: ignore[no-any-return]

    def close(self) -> None:
        """Nothing is open."""


def _before_damage(single_bytes: Iterator[bytes]) -> Iterator[bytes]:
    """An error of a decompressor loses the call's bytes, so each call asks for one byte."""
    found = bytearray()
    with suppress(*DAMAGE_ERRORS):
        for byte in single_bytes:
            found += byte
    for at in range(0, len(found), BLOCK_BYTES):
        yield bytes(found[at : at + BLOCK_BYTES])


def whole_lines(chunks: Iterable[bytes]) -> Iterator[Block]:
    """Split ``chunks``, each of at most ``BLOCK_BYTES``, into lines. A line that is longer than
    ``LONGEST_LINE`` (without its LF) is a fault."""
    rest, is_in_long_line = b"", False
    try:
        for chunk in chunks:
            begins = chunk.find(b"\n") + 1 if is_in_long_line else 0
            if is_in_long_line and not begins:
                continue
            rest += chunk[begins:]
            is_in_long_line = False
            end = rest.find(b"\n")  # only the first line can be too long
            if end > LONGEST_LINE:
                yield Block(rest[:SHOWN_BYTES], TOO_LONG)
                rest = rest[end + 1 :]
            cut = rest.rfind(b"\n") + 1
            if cut:
                yield Block(rest[:cut])
                rest = rest[cut:]
            if len(rest) > LONGEST_LINE:
                yield Block(rest[:SHOWN_BYTES], TOO_LONG)
                rest, is_in_long_line = b"", True
    except DAMAGE_ERRORS as damage:
        if rest:
            yield Block(rest, f"cut: {DAMAGED} here")
        yield Block(b"", f"{DAMAGED}, and the rest is lost: {damage}")
        return
    if rest:
        yield Block(rest)

"""Audit files: names, brokers, decompression, and splitting into lines.

This module must not know what a line says, nor Spark.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final, NamedTuple

import pyarrow as pa

from metalog.errors import InvalidRequest

BLOCK_BYTES: Final = 1 << 20
DAMAGED: Final = "the packed file is damaged"
LONGEST_LINE: Final = 1 << 20
SHOWN_BYTES: Final = 1_000
TOO_LONG: Final = f"longer than {LONGEST_LINE:,} bytes; the text is its beginning"
PACKED: Final = (".gz", ".bz2", ".zst", ".zstd")
"""File name suffixes of compressed files."""
DAMAGE: Final = (zlib.error, EOFError, OSError)
"""The exceptions of decompressing a damaged file."""
GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP: Final = 16 + zlib.MAX_WBITS
_CODECS: Final = {b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_KAFKAS_NAME: Final = "kafka-authorizer"
BrokerPattern = re.Pattern[str] | None


class Block(NamedTuple):
    """Whole lines, each with its LF (the file's last line may have none); or the ``fault`` in a
    file, with an incomplete line or none."""

    lines: bytes
    fault: str | None = None


def broker_of(path: str, pattern: BrokerPattern) -> str:
    """The broker whose log ``path`` is.

    With ``pattern``, the broker is its first group, or else its whole match. Without a pattern, it
    is the folder's name if the file has Kafka's own name, ``kafka-authorizer``; else the file's
    name up to its first dot.
    """
    if pattern is not None:
        found = pattern.search(path)
        if found is None:
            raise InvalidRequest(f"{path}: {pattern.pattern!r} finds no broker's name in it")
        return found[min(pattern.groups, 1)] or path
    file = PurePosixPath(path)
    name = file.name.partition(".")[0]
    return file.parent.name if name == _KAFKAS_NAME else name or file.name


def unpacked(content: pa.Buffer) -> Iterator[bytes]:
    """The decompressed content in blocks, up to the first block with damage; then one of ``DAMAGE``
    is raised. Uncompressed content is returned unchanged."""
    magic = content[:4].to_pybytes()
    file = pa.BufferReader(content)
    if magic.startswith(GZIP_MAGIC):
        yield from _gunzipped(file)
        return
    codec = next((name for start, name in _CODECS.items() if magic.startswith(start)), None)
    stream = file if codec is None else pa.CompressedInputStream(file, codec)
    while chunk := stream.read(BLOCK_BYTES):
        yield chunk


def _gunzipped(file: pa.NativeFile) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(_GZIP)
    while packed := file.read(BLOCK_BYTES):
        while packed:
            if unpacker.eof:
                unpacker = zlib.decompressobj(_GZIP)
            yield unpacker.decompress(packed, BLOCK_BYTES)
            packed = unpacker.unconsumed_tail or unpacker.unused_data.lstrip(b"\0")
    if not unpacker.eof:
        raise EOFError("it ends too soon")


def whole_lines(chunks: Iterable[bytes]) -> Iterator[Block]:
    """Split ``chunks`` into lines. No chunk should be longer than the longest line, since a line
    within one chunk is not checked for its length."""
    rest, is_within = b"", False
    try:
        for chunk in chunks:
            begins = chunk.find(b"\n") + 1 if is_within else 0
            if is_within and not begins:
                continue
            rest += chunk[begins:]
            is_within = False
            cut = rest.rfind(b"\n") + 1
            if cut:
                yield Block(rest[:cut])
                rest = rest[cut:]
            if len(rest) > LONGEST_LINE:
                yield Block(rest[:SHOWN_BYTES], TOO_LONG)
                rest, is_within = b"", True
    except DAMAGE as damage:
        if rest:
            yield Block(rest, f"cut: {DAMAGED} here")
        yield Block(b"", f"{DAMAGED}, and what follows is lost: {damage}")
        return
    if rest:
        yield Block(rest)

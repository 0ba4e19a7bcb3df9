"""Reads and writes the head and the blocks of an Avro container file, with limits on their sizes.

The reader limits a block's number of records and inflated size. Its errors are ``ValueError`` and
the errors of the codec's library. The caller must check the schema before it decodes a record,
because some schemas turn one byte into a large amount of data. This module must not know files.
"""

from __future__ import annotations

import bz2
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from metalog.records.primitives.compression import inflate

Read = Callable[[int], bytes]
"""Like ``read`` of a file: it returns fewer bytes than requested only at the file's end."""

MAX_HEAD: Final = 1 << 20
"""Maximum bytes of a file's metadata, schema included."""
MAX_BLOCK: Final = 64 << 20
"""Maximum bytes of a block, as stored and inflated."""

_MAGIC: Final = b"Obj\x01"
_SYNC_BYTES: Final = 16
_LONGEST_VARINT: Final = 10
_XZ_MEMORY: Final = 128 << 20


class ContainerHeader(NamedTuple):
    """The head of a file; ``schema`` is the JSON of ``avro.schema`` in ``metadata``."""

    schema: Any
    codec: str
    metadata: Mapping[str, bytes]
    sync: bytes


def read_head(read: Read) -> ContainerHeader:
    if read(len(_MAGIC)) != _MAGIC:
        raise ValueError("it does not begin as an Avro container file")
    metadata: dict[str, bytes] = {}
    left = MAX_HEAD
    while count := _long(read):
        if count < 0:
            _long(read)
        for _ in range(abs(count)):
            key = _sized(read, left)
            value = _sized(read, left - len(key))
            left -= len(key) + len(value) + 2
            metadata[key.decode()] = value
    try:
        schema = json.loads(metadata["avro.schema"])
    except (KeyError, ValueError, RecursionError):
        raise ValueError("its metadata has no schema that can be read") from None
    return ContainerHeader(
        schema, metadata.get("avro.codec", b"null").decode(), metadata, _exactly(read, _SYNC_BYTES)
    )


def read_blocks(read: Read, head: ContainerHeader, most_bytes: int) -> Iterator[tuple[int, bytes]]:
    """The number of records and the inflated bytes of each block.

    A block may have at most one record per inflated byte. All blocks together may inflate to at
    most ``most_bytes``.
    """
    while first := read(1):
        count, size = _long(read, first), _long(read)
        if not 0 <= size <= MAX_BLOCK:
            raise ValueError(f"a block of {size:,} bytes, but at most {MAX_BLOCK:,} are accepted")
        data = _inflated(head.codec, _exactly(read, size), min(MAX_BLOCK, most_bytes))
        most_bytes -= len(data)
        if not 0 <= count <= len(data):
            raise ValueError(f"a block of {count:,} records in {len(data):,} bytes")
        if read(_SYNC_BYTES) != head.sync:
            raise ValueError("a block does not end with the file's sync marker")
        yield count, data


def container(
    schema: str, metadata: Mapping[str, bytes], sync: bytes, blocks: Iterator[tuple[int, bytes]]
) -> Iterator[bytes]:
    """The bytes of an uncompressed file, in parts."""
    entries = {"avro.codec": b"null", "avro.schema": schema.encode(), **metadata}
    fields = [part for key, value in entries.items() for part in (key.encode(), value)]
    head = b"".join(_encoded_long(len(field)) + field for field in fields)
    yield _MAGIC + _encoded_long(len(entries)) + head + _encoded_long(0) + sync
    for count, data in blocks:
        yield _encoded_long(count) + _encoded_long(len(data)) + data + sync


def _inflated(codec: str, data: bytes, most: int) -> bytes:
    checksum = None
    if codec == "null":
        inflated = data
    elif codec == "deflate":
        inflated = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, most + 1)
    elif codec == "bzip2":
        inflated = bz2.BZ2Decompressor().decompress(data, most + 1)
    elif codec == "xz":
        stream = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
        inflated = stream.decompress(data, most + 1)
    elif codec == "snappy":
        inflated, checksum = inflate("snappy", data[:-4], most), data[-4:]
    else:
        raise ValueError(f"the codec {codec[:20]!r} is unknown")
    if len(inflated) > most:
        raise ValueError(f"it inflates to more than {most:,} bytes")
    if checksum is not None and zlib.crc32(inflated).to_bytes(4, "big") != checksum:
        raise ValueError("a block's checksum does not match")
    return inflated


def _long(read: Read, first: bytes = b"") -> int:
    value = 0
    for index in range(_LONGEST_VARINT):
        [byte] = first or _exactly(read, 1)
        first = b""
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1)
    raise ValueError("a number of more than ten bytes")


def _sized(read: Read, most: int) -> bytes:
    size = _long(read)
    if not 0 <= size <= most:
        raise ValueError(f"its metadata has more than {MAX_HEAD:,} bytes")
    return _exactly(read, size)


def _exactly(read: Read, size: int) -> bytes:
    data = read(size)
    if len(data) != size:
        raise ValueError("it ends too soon")
    return data


def _encoded_long(number: int) -> bytes:
    """``number`` must not be negative."""
    number <<= 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)

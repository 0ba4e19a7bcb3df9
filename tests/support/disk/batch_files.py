"""Reads a whole file of batches, and changes fields of a batch.

This module must not know more of the code under test than ``metalog.records``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from metalog.records.batch import Batch, decode_batch
from metalog.records.primitives.checksum import crc32c

CRC_AT, CRC_END, HEADER_SIZE = 17, 21, 61
COUNT_AT, LAST_OFFSET_DELTA_AT, ATTRIBUTES_AT = 57, 23, 21


def read_batches(path: Path) -> Iterator[Batch]:
    content = path.read_bytes()
    at = 0
    while at < len(content):
        batch = decode_batch(content, at, file=path.name)
        yield batch
        at += batch.size


def resealed(batch: bytes | bytearray) -> bytes:
    """The batch with its length and checksum corrected."""
    out = bytearray(batch)
    struct.pack_into(">i", out, 8, len(out) - 12)
    struct.pack_into(">I", out, CRC_AT, crc32c(bytes(out[CRC_END:])))
    return bytes(out)


def with_header_field(batch: bytes, at: int, code: str, value: int) -> bytes:
    """The batch with one header field replaced, and its checksum corrected."""
    out = bytearray(batch)
    struct.pack_into(f">{code}", out, at, value)
    return resealed(out)


def with_payload(batch: bytes, payload: bytes) -> bytes:
    return resealed(batch[:HEADER_SIZE] + payload)

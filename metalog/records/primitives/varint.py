"""Kafka's variable-length integers: unsigned, and signed in zigzag encoding.

A reader takes ``(data, at)``, and returns the value and the position after the varint. Bytes that
are not a varint raise ``ValueError``, and incomplete bytes raise ``IndexError``.

Source: KIP-482 and Kafka's message format v2. This module must not know records.
"""

from __future__ import annotations

from typing import Final

_MASK_32: Final = 0xFFFF_FFFF
_MASK_64: Final = 0xFFFF_FFFF_FFFF_FFFF


def read_unsigned_varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned 32-bit integer in at most 5 bytes."""
    byte = data[at]
    at += 1
    if byte < 0x80:
        return byte, at
    value = byte & 0x7F
    shift = 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            raise ValueError("a varint is longer than 5 bytes")
    if value > _MASK_32:
        raise ValueError("a varint is larger than 32 bits")
    return value, at


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A signed 32-bit integer."""
    value, at = read_unsigned_varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def read_varlong(data: bytes, at: int) -> tuple[int, int]:
    """A signed 64-bit integer in at most 10 bytes."""
    value = 0
    shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            raise ValueError("a varlong is longer than 10 bytes")
    if value > _MASK_64:
        raise ValueError("a varlong is larger than 64 bits")
    return (value >> 1) ^ -(value & 1), at


def write_unsigned_varint(out: bytearray, value: int) -> None:
    if 0 <= value <= 0x7F:
        out.append(value)
        return
    if not 0 <= value <= _MASK_32:
        raise OverflowError(f"{value} does not fit in 32 bits")
    _write(out, value)


def write_varint(out: bytearray, value: int) -> None:
    if -0x40 <= value < 0x40:
        out.append((value << 1) ^ (value >> 31))
        return
    if not -(1 << 31) <= value < 1 << 31:
        raise OverflowError(f"{value} does not fit in 32 bits")
    _write(out, (value << 1) ^ (value >> 31))


def write_varlong(out: bytearray, value: int) -> None:
    if -0x40 <= value < 0x40:
        out.append((value << 1) ^ (value >> 63))
        return
    if not -(1 << 63) <= value < 1 << 63:
        raise OverflowError(f"{value} does not fit in 64 bits")
    _write(out, (value << 1) ^ (value >> 63))


def _write(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)

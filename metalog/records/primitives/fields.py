"""Reads and writes the field types of Kafka's flexible versions.

A reader takes ``(data, at)``, and returns the value and the position of the next field. The end of
``data`` is the end of the message. Bytes that cannot be read raise one of ``UNREADABLE``; a value
that cannot be written raises one of ``UNWRITABLE``.

Source: KIP-482 (compact lengths, tagged fields). This module must not know messages.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from metalog.ids import Uuid
from metalog.records.message import Struct
from metalog.records.primitives.text import check_size, decode_text, encode_text
from metalog.records.primitives.varint import read_unsigned_varint, write_unsigned_varint

T = TypeVar("T")

UNREADABLE: Final = (ValueError, IndexError, struct.error)
UNWRITABLE: Final = (ValueError, OverflowError, TypeError, AttributeError, struct.error)

_INT16: Final = struct.Struct(">h")
_UINT16: Final = struct.Struct(">H")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_FLOAT64: Final = struct.Struct(">d")

MAX_TAGGED_FIELDS: Final = 1_024
"""Per struct. The limit exists because a tagged field of two bytes takes many more bytes in
memory. Kafka's structs have at most nine."""

TaggedFields = tuple[tuple[int, bytes], ...]

MANY: Final = 64
"""``INT32_ARRAYS`` and ``UUID_ARRAYS`` have a ``struct`` for each smaller compact length (the
number of items plus one). Longer arrays are read item by item."""
INT32_ARRAYS: Final = tuple([struct.Struct(f">{max(length - 1, 0)}i") for length in range(MANY)])
UUID_ARRAYS: Final = tuple([struct.Struct(">" + "16s" * (length - 1)) for length in range(MANY)])


def read_bool(data: bytes, at: int) -> tuple[bool, int]:
    return data[at] != 0, at + 1


def read_int8(data: bytes, at: int) -> tuple[int, int]:
    value = data[at]
    return (value if value < 0x80 else value - 0x100), at + 1


def read_int16(data: bytes, at: int) -> tuple[int, int]:
    value: int = _INT16.unpack_from(data, at)[0]
    return value, at + 2


def read_uint16(data: bytes, at: int) -> tuple[int, int]:
    value: int = _UINT16.unpack_from(data, at)[0]
    return value, at + 2


def read_int32(data: bytes, at: int) -> tuple[int, int]:
    value: int = _INT32.unpack_from(data, at)[0]
    return value, at + 4


def read_int64(data: bytes, at: int) -> tuple[int, int]:
    value: int = _INT64.unpack_from(data, at)[0]
    return value, at + 8


def read_float64(data: bytes, at: int) -> tuple[float, int]:
    value: float = _FLOAT64.unpack_from(data, at)[0]
    return value, at + 8


def read_uuid(data: bytes, at: int) -> tuple[Uuid, int]:
    end = at + 16
    if end > len(data):
        raise IndexError("a uuid is cut short")
    return Uuid(data[at:end]), end


def read_nullable_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = read_unsigned_varint(data, at)
    if size == 0:
        return None, at
    end = at + size - 1
    if end > len(data):
        raise IndexError(f"{size - 1} bytes are announced, but only {len(data) - at} are left")
    return data[at:end], end


def read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    value, at = read_nullable_bytes(data, at)
    if value is None:
        raise ValueError("null in a field that cannot be null")
    return value, at


def read_string(data: bytes, at: int) -> tuple[str, int]:
    value, at = read_bytes(data, at)
    check_size(len(value))
    return decode_text(value), at


def read_nullable_string(data: bytes, at: int) -> tuple[str | None, int]:
    value, at = read_nullable_bytes(data, at)
    if value is None:
        return None, at
    check_size(len(value))
    return decode_text(value), at


def read_nullable_array(
    read: Callable[[bytes, int], tuple[T, int]], data: bytes, at: int
) -> tuple[tuple[T, ...] | None, int]:
    size, at = read_unsigned_varint(data, at)
    if size == 0:
        return None, at
    items = []
    for _ in range(size - 1):
        item, at = read(data, at)
        items.append(item)
    return tuple(items), at


def read_array(
    read: Callable[[bytes, int], tuple[T, int]], data: bytes, at: int
) -> tuple[tuple[T, ...], int]:
    items, at = read_nullable_array(read, data, at)
    if items is None:
        raise ValueError("null in a field that cannot be null")
    return items, at


def read_structs(
    decode: Callable[[bytes, int, int], tuple[T, int]], data: bytes, at: int, version: int
) -> tuple[tuple[T, ...], int]:
    size, at = read_unsigned_varint(data, at)
    if size == 0:
        raise ValueError("null in a field that cannot be null")
    items = []
    for _ in range(size - 1):
        item, at = decode(data, at, version)
        items.append(item)
    return tuple(items), at


def read_tagged_fields(data: bytes, at: int) -> tuple[TaggedFields, int]:
    if data[at] == 0:
        return (), at + 1
    count, at = read_tag_count(data, at)
    tagged = []
    for _ in range(count):
        tag, size, at = read_tag(data, at)
        tagged.append((tag, data[at : at + size]))
        at += size
    return tuple(tagged), at


def read_tag_count(data: bytes, at: int) -> tuple[int, int]:
    count, at = read_unsigned_varint(data, at)
    if count > MAX_TAGGED_FIELDS:
        raise ValueError(f"{count:,} tagged fields; at most {MAX_TAGGED_FIELDS:,} are read")
    return count, at


def read_tag(data: bytes, at: int) -> tuple[int, int, int]:
    """The tag of a field, and the size and the position of its value."""
    tag, at = read_unsigned_varint(data, at)
    size, at = read_unsigned_varint(data, at)
    if at + size > len(data):
        raise IndexError(f"tagged field {tag} is cut short")
    return tag, size, at


def refuse_tagged_field(tag: int, size: int, read: int) -> None:
    raise ValueError(f"tagged field {tag} has {size} bytes, but its value takes {read}")


def check_uuid(value: Uuid) -> None:
    if len(value) != 16:
        raise ValueError(f"a uuid has 16 bytes, not {len(value)}")


def write_uuid(out: bytearray, value: Uuid) -> None:
    check_uuid(value)
    out += value


def write_bytes(out: bytearray, value: bytes) -> None:
    write_unsigned_varint(out, len(value) + 1)
    out += value


def write_string(out: bytearray, value: str) -> None:
    encoded = encode_text(value)
    length = len(encoded) + 1
    if length < 0x80:
        out.append(length)
    else:
        check_size(len(encoded))
        write_unsigned_varint(out, length)
    out += encoded


def write_nullable_string(out: bytearray, value: str | None) -> None:
    if value is None:
        out.append(0)
    else:
        write_string(out, value)


def write_array(
    write: Callable[[bytearray, T], None], out: bytearray, items: tuple[T, ...]
) -> None:
    write_unsigned_varint(out, len(items) + 1)
    for item in items:
        write(out, item)


def write_int32s(out: bytearray, items: Sequence[int]) -> None:
    length = len(items) + 1
    if length < MANY:
        out.append(length)
        out += INT32_ARRAYS[length].pack(*items)
    else:
        write_unsigned_varint(out, length)
        out += struct.pack(f">{len(items)}i", *items)


def write_nullable_int32s(out: bytearray, items: Sequence[int] | None) -> None:
    if items is None:
        out.append(0)
    else:
        write_int32s(out, items)


def write_nullable_array(
    write: Callable[[bytearray, T], None], out: bytearray, items: tuple[T, ...] | None
) -> None:
    if items is None:
        out.append(0)
    else:
        write_array(write, out, items)


def write_structs(out: bytearray, items: Sequence[Struct], version: int) -> None:
    write_unsigned_varint(out, len(items) + 1)
    for item in items:
        item.encode(out, version)


def write_tagged_fields(out: bytearray, tagged: TaggedFields) -> None:
    """Write the fields sorted by tag, as KIP-482 requires."""
    if not tagged:
        out.append(0)
        return
    write_unsigned_varint(out, len(tagged))
    for tag, field in sorted(tagged, key=lambda entry: entry[0]):
        write_unsigned_varint(out, tag)
        write_unsigned_varint(out, len(field))
        out += field


def refuse_field(name: str, version: int) -> None:
    raise ValueError(f"{name} cannot be written in version {version}")

"""Decodes a message as an object of the class that declares the message.

The library kio has most of these classes, and the writer. The reader is ours, because bytes from a
network are not trusted (docs/decisions/0035-own-reader-of-kio-classes.md):

- The declared length of an array allocates no memory.
- Unknown tagged fields are skipped (KIP-482).
- An unknown error code stays a number. Bytes that are not UTF-8 are replaced as in Java.
- A caller can limit the number of elements.

Bytes that cannot be decoded raise ``Malformed``. This module must not know any message but
the request header.
"""

from __future__ import annotations

import dataclasses
import datetime
import struct
import sys
import uuid
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin

from kio.schema.errors import ErrorCode

from metalog.records.primitives.fields import (
    UNREADABLE,
    read_bool,
    read_bytes,
    read_float64,
    read_int8,
    read_int16,
    read_int32,
    read_int64,
    read_nullable_bytes,
    read_nullable_string,
    read_string,
    read_uint16,
)
from metalog.records.primitives.text import decode_text
from metalog.records.primitives.varint import read_unsigned_varint
from metalog.wire.frames import Malformed

Reader = Callable[[bytes, int], tuple[Any, int]]
"""Reads a value that is not an array or a structure; returns the value and its end position."""
AnyReader = Callable[[bytes, int, "Elements"], tuple[Any, int]]
"""Reads a value of any type, and counts the array items and tagged fields in the value."""

_LENGTH16: Final = struct.Struct(">h")
_LENGTH32: Final = struct.Struct(">i")
_ERRORS: Final[dict[int, int]] = {each.value: each for each in ErrorCode}
_ZEROS: Final = bytes(16)
_NULL: Final = "null in a field that cannot be null"
_EPOCH: Final = datetime.datetime.fromtimestamp(0, datetime.UTC)


class TooManyElements(Malformed):
    """A message with more elements than its reader accepts."""


class Elements:
    """Counts down how many more array items and tagged fields a message may have."""

    __slots__ = ("_left", "_most")

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def take(self, count: int) -> None:
        """Count ``count`` more elements; ``TooManyElements`` if they are too many."""
        self._left -= count
        if self._left < 0:
            raise TooManyElements(f"more than {self._most} elements in one message")


def read(
    declared: type[Any], data: bytes, at: int = 0, *, most_elements: int = sys.maxsize
) -> tuple[Any, int]:
    """A message of the class ``declared``, and the position of its end in ``data``.

    ``TooManyElements`` if its arrays and tagged fields have more than ``most_elements`` in all.
    """
    try:
        return reader_of(declared)(data, at, Elements(most_elements))
    except Malformed:
        raise
    except UNREADABLE as error:
        raise Malformed(f"bytes that are not {declared.__name__}: {error}") from None


def read_count(declared: type[Any], data: bytes, at: int, *, most_elements: int) -> int:
    """The length of the array that is the first field of ``declared``; no item is read.

    ``TooManyElements`` as in ``read``; ``Malformed`` if there are fewer bytes than items.
    """
    try:
        if declared.__flexible__:
            size, at = _read_length(data, at)
        else:
            size, at = read_int32(data, at)
        if size < 0:
            raise ValueError(_NULL)
    except UNREADABLE as error:
        raise Malformed(f"bytes that are not {declared.__name__}: {error}") from None
    if size > len(data) - at:
        raise Malformed(f"{size} items are announced, but only {len(data) - at} bytes are left")
    Elements(most_elements).take(size)
    return size


def _compiled(declared: Any) -> AnyReader:
    is_flexible: bool = declared.__flexible__
    plain: list[tuple[str, AnyReader]] = []
    tagged: dict[int, tuple[str, AnyReader]] = {}
    defaults: dict[str, Any] = {}
    for field in dataclasses.fields(declared):
        tag = field.metadata.get("tag")
        if declared.__name__ == "RequestHeader" and field.name == "client_id":
            plain.append((field.name, _simple(_read_nullable_string16)))
        elif tag is None:
            plain.append((field.name, _field_reader(field, is_flexible)))
        else:
            tagged[tag] = (field.name, _field_reader(field, is_flexible))
            defaults[field.name] = _default(field, tagged[tag][1])

    def read_plain(data: bytes, at: int, elements: Elements) -> tuple[Any, int]:
        values = {}
        for name, reader in plain:
            values[name], at = reader(data, at, elements)
        return declared(**values), at

    def read_flexible(data: bytes, at: int, elements: Elements) -> tuple[Any, int]:
        values = dict(defaults)
        for name, reader in plain:
            values[name], at = reader(data, at, elements)
        at = _read_tagged(tagged, values, data, at, elements)
        return declared(**values), at

    return read_flexible if is_flexible else read_plain


def _read_tagged(
    tagged: Mapping[int, tuple[str, AnyReader]],
    values: dict[str, Any],
    data: bytes,
    at: int,
    elements: Elements,
) -> int:
    """Put the known tagged fields into ``values``; return the position after all tagged fields."""
    if data[at] == 0:
        return at + 1
    count, at = read_unsigned_varint(data, at)
    elements.take(count)
    for _ in range(count):
        tag, at = read_unsigned_varint(data, at)
        size, at = read_unsigned_varint(data, at)
        end = at + size
        if end > len(data):
            raise IndexError(f"tagged field {tag} is cut short")
        field = tagged.get(tag)
        if field is not None:
            name, reader = field
            values[name], read_size = reader(data[at:end], 0, elements)
            if read_size != size:
                raise ValueError(
                    f"tagged field {tag} has {size} bytes, but its value has {read_size}"
                )
        at = end
    return at


reader_of: Final[Callable[[Any], AnyReader]] = cache(_compiled)
"""The reader for a class. A reader raises one of ``UNREADABLE``, or ``TooManyElements``."""


def _simple(read_value: Reader) -> AnyReader:
    return lambda data, at, elements: read_value(data, at)


def _field_reader(field: dataclasses.Field[Any], is_flexible: bool) -> AnyReader:
    kind, is_nullable = _without_none(field.type)
    if get_origin(kind) is not tuple:
        return _element_reader(kind, field, is_flexible, is_nullable)
    inner, _ = _without_none(get_args(kind)[0])
    element = _element_reader(inner, field, is_flexible, is_nullable=False)
    return _array_reader(element, _read_length if is_flexible else read_int32, is_nullable)


def _element_reader(
    kind: Any, field: dataclasses.Field[Any], is_flexible: bool, is_nullable: bool
) -> AnyReader:
    if dataclasses.is_dataclass(kind):
        reader = reader_of(kind)
        return _nullable_struct_reader(reader) if is_nullable else reader
    name = field.metadata["kafka_type"]
    if name == "records":
        name = "bytes"
    found = _FIXED.get(name) or _SIZED.get((name, is_flexible, is_nullable))
    if found is None:
        raise NotImplementedError(f"a field of type {name} is not supported here")
    return _simple(found)


def _without_none(kind: Any) -> tuple[Any, bool]:
    if get_origin(kind) is UnionType:
        kinds = [each for each in get_args(kind) if each is not NoneType]
        return kinds[0], True
    return kind, False


def _default(field: dataclasses.Field[Any], reader: AnyReader) -> Any:
    """The value of a tagged field that is missing in a message."""
    if field.default is not dataclasses.MISSING:
        return field.default
    kind, _ = _without_none(field.type)
    if not dataclasses.is_dataclass(kind):
        return reader(_ZEROS, 0, Elements(0))[0]
    parts = {
        part.name: _default(part, _field_reader(part, is_flexible=True))
        for part in dataclasses.fields(kind)
    }
    return kind(**parts)  # type: ignore[operator]


def _read_uuid(data: bytes, at: int) -> tuple[uuid.UUID | None, int]:
    """As in kio, None if all bytes are zero."""
    end = at + 16
    if end > len(data):
        raise IndexError("a uuid is cut short")
    value = data[at:end]
    return (None if value == _ZEROS else uuid.UUID(bytes=value)), end


def _read_error(data: bytes, at: int) -> tuple[int, int]:
    code, at = read_int16(data, at)
    return _ERRORS.get(code, code), at


def _milliseconds_reader(read_number: Reader) -> Reader:
    def read_milliseconds(data: bytes, at: int) -> tuple[datetime.timedelta, int]:
        value, at = read_number(data, at)
        try:
            return datetime.timedelta(milliseconds=value), at
        except OverflowError:
            raise ValueError(f"{value} milliseconds are out of range") from None

    return read_milliseconds


def _read_moment(data: bytes, at: int) -> tuple[datetime.datetime | None, int]:
    """A time in milliseconds since 1970. As in kio, None for -1."""
    value, at = read_int64(data, at)
    if value == -1:
        return None, at
    if value < 0:
        raise ValueError(f"{value} milliseconds are before 1970")
    try:
        return _EPOCH + datetime.timedelta(milliseconds=value), at
    except OverflowError:
        raise ValueError(f"{value} milliseconds are out of range") from None


def _slice(data: bytes, at: int, size: int) -> tuple[bytes | None, int]:
    """None if ``size`` is negative, as in Kafka in versions before KIP-482."""
    if size < 0:
        return None, at
    if size > len(data) - at:
        raise IndexError(f"{size} bytes are announced, but only {len(data) - at} are left")
    return data[at : at + size], at + size


def _read_nullable_bytes32(data: bytes, at: int) -> tuple[bytes | None, int]:
    return _slice(data, at + 4, _LENGTH32.unpack_from(data, at)[0])


def _read_nullable_string16(data: bytes, at: int) -> tuple[str | None, int]:
    value, at = _slice(data, at + 2, _LENGTH16.unpack_from(data, at)[0])
    return (None if value is None else decode_text(value)), at


def _never_null(reader: Reader) -> Reader:
    def read_value(data: bytes, at: int) -> tuple[Any, int]:
        value, at = reader(data, at)
        if value is None:
            raise ValueError(_NULL)
        return value, at

    return read_value


def _read_length(data: bytes, at: int) -> tuple[int, int]:
    """The length of an array in flexible versions (KIP-482); -1 for null. In other versions, too,
    Kafka reads any negative length as null."""
    size, at = read_unsigned_varint(data, at)
    return size - 1, at


def _array_reader(element: AnyReader, read_length: Reader, is_nullable: bool) -> AnyReader:
    def read_items(data: bytes, at: int, elements: Elements) -> tuple[Any, int]:
        size, at = read_length(data, at)
        if size < 0:
            if is_nullable:
                return None, at
            raise ValueError(_NULL)
        elements.take(size)
        items = []
        for _ in range(size):
            item, at = element(data, at, elements)
            items.append(item)
        return tuple(items), at

    return read_items


def _nullable_struct_reader(reader: AnyReader) -> AnyReader:
    """The first byte says whether the structure is null (KIP-893)."""

    def read_struct(data: bytes, at: int, elements: Elements) -> tuple[Any, int]:
        mark, at = read_int8(data, at)
        return (None, at) if mark < 0 else reader(data, at, elements)

    return read_struct


_FIXED: Final[dict[str, Reader]] = {
    "bool": read_bool,
    "int8": read_int8,
    "int16": read_int16,
    "uint16": read_uint16,
    "int32": read_int32,
    "int64": read_int64,
    "float64": read_float64,
    "uuid": _read_uuid,
    "error_code": _read_error,
    "datetime_i64": _read_moment,
    "timedelta_i32": _milliseconds_reader(read_int32),
    "timedelta_i64": _milliseconds_reader(read_int64),
}

_SIZED: Final[dict[tuple[str, bool, bool], Reader]] = {
    ("string", True, False): read_string,
    ("string", True, True): read_nullable_string,
    ("string", False, False): _never_null(_read_nullable_string16),
    ("string", False, True): _read_nullable_string16,
    ("bytes", True, False): read_bytes,
    ("bytes", True, True): read_nullable_bytes,
    ("bytes", False, False): _never_null(_read_nullable_bytes32),
    ("bytes", False, True): _read_nullable_bytes32,
}
"""The readers by type, by whether the version is flexible, and by whether null is allowed."""

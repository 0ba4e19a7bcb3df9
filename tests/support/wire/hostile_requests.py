"""The largest requests that a hostile client may send, derived from the message classes.

It encodes by KIP-482 and the format before it, without the writers under test. This module must
not know what an API is for, except for the values that must be valid.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin

from metalog.wire.schema import request_type
from metalog_node import HandledApi

FIXED = {"bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "timedelta_i32": 4, "uuid": 16}
VALUES = {
    "mechanism": 1,
    "hash_type": 1,
    "match_type": 1,
    "iterations": 4096,
    "include_topic_authorized_operations": 1,
}
A_CODE = 3
"""The fields with a code: of a resource type, a pattern type, an operation or a permission."""
LONGEST_TEXT = 32_767


class Shape(NamedTuple):
    """Each outermost array has ``items`` items, each array within it ``within``. ``text`` makes
    the text of an item from its number, or is the same text for all. ``tags`` is the number of
    unknown tagged fields at the end."""

    items: int = 0
    within: int = 0
    text: Callable[[int], bytes] | bytes = b"%x".__mod__
    tags: int = 0
    values: Mapping[str, int] = VALUES
    data: Mapping[str, bytes] = {}


def hostile(
    key: int, api: HandledApi, version: int, data: Mapping[str, bytes]
) -> Iterator[tuple[str, bytes]]:
    """Names of attacks, with their requests; ``data`` are the fields of type bytes."""
    declared: Any = request_type(key, version)
    most, plain = api.most_elements, Shape(data=data)
    yield "short", request(declared, plain)
    texts = min(most, api.most_bytes // LONGEST_TEXT // 20)
    yield (
        "malformed texts",
        request(declared, plain._replace(items=texts, text=b"\xff" * LONGEST_TEXT)),
    )
    if declared.__flexible__:
        yield "unknown tags", request(declared, plain._replace(tags=most))
        yield "too many tags", request(declared, plain._replace(tags=api.most_bytes // 3))
    if has_arrays(declared):
        each = most // len(arrays(declared))
        matching = {**VALUES, "pattern_type_filter": 2, "resource_type_filter": 1}
        yield "many items", request(declared, plain._replace(items=each, values=matching))
        if any(has_arrays(item_type(array.type)) for array in arrays(declared)):
            yield "items in one", request(declared, plain._replace(items=1, within=each - 1))
        yield "too many items", request(declared, plain._replace(items=most + 1, text=b"x"))
    yield "too long", request(declared, plain) + bytes(api.most_bytes)


def request(declared: Any, shape: Shape) -> bytes:
    head = (declared.__api_key__, declared.__version__, 7)
    begin = b"".join(n.to_bytes(size, "big") for n, size in zip(head, (2, 2, 4), strict=True))
    tags = b"\0" if declared.__header_schema__.__flexible__ else b""
    return begin + b"\xff\xff" + tags + structure(declared, shape, 0)


def structure(declared: Any, shape: Shape, number: int) -> bytes:
    written = [
        field_bytes(field, declared.__flexible__, shape, number) for field in plain_fields(declared)
    ]
    if declared.__flexible__:
        written.append(varint(shape.tags))
        written.append(b"\xfe\x7f\0" * shape.tags)
    return b"".join(written)


@cache
def plain_fields(declared: Any) -> list[dataclasses.Field[Any]]:
    return [each for each in dataclasses.fields(declared) if "tag" not in each.metadata]


def arrays(declared: Any) -> list[Any]:
    return [each for each in plain_fields(declared) if item_type(each.type) is not None]


def has_arrays(declared: Any) -> bool:
    """Whether a structure has arrays; a plain value has none."""
    return dataclasses.is_dataclass(declared) and bool(arrays(declared))


@cache
def item_type(kind: Any) -> Any:
    """The item type of an array; None if ``kind`` is not an array."""
    for each in (kind, *get_args(kind)):
        if get_origin(each) is tuple:
            return get_args(each)[0]
    return None


def field_bytes(
    field: dataclasses.Field[Any], is_flexible: bool, shape: Shape, number: int
) -> bytes:
    item = item_type(field.type)
    if item is not None:
        within = shape._replace(items=shape.within, within=0, tags=0)
        make: Callable[[int], bytes] = (
            (lambda each: structure(item, within, each))
            if dataclasses.is_dataclass(item)
            else (lambda each: simple(field, is_flexible, shape, each))
        )
        if isinstance(shape.text, bytes):
            items = make(0) * shape.items
        else:
            items = b"".join(map(make, range(shape.items)))
        return length(shape.items, is_flexible, 4) + items
    if dataclasses.is_dataclass(field.type):
        return structure(field.type, shape._replace(tags=0), number)
    return simple(field, is_flexible, shape, number)


def simple(field: dataclasses.Field[Any], is_flexible: bool, shape: Shape, number: int) -> bytes:
    kind = field.metadata["kafka_type"]
    if kind == "string":
        text = shape.text if isinstance(shape.text, bytes) else shape.text(number)
        return length(len(text), is_flexible, 2) + text
    if kind in ("bytes", "records"):
        data = shape.data.get(field.name, b"")
        return length(len(data), is_flexible, 4) + data
    value = shape.values.get(field.name, A_CODE if kind == "int8" else 0)
    return value.to_bytes(FIXED[kind], "big")


def length(size: int, is_flexible: bool, width: int) -> bytes:
    return varint(size + 1) if is_flexible else size.to_bytes(width, "big")


def varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)

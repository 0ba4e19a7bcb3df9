"""The field types in Kafka's JSON form: what a message's ``json_text`` and ``from_json`` need.

Input that does not fit raises ``InvalidRequest``. This module must not know messages.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from json.encoder import encode_basestring
from math import inf, isfinite
from typing import Final, Protocol, TypeVar

from metalog.errors import InvalidRequest
from metalog.ids import Uuid, parse_uuid, uuid_text

T = TypeVar("T")

_REMEMBERED: Final = 1 << 12

JsonObject = Mapping[str, object]

_NAN: Final = "NaN"
_NOT_FINITE: Final = {inf: "Infinity", -inf: "-Infinity"}


class _HasJson(Protocol):
    def json_text(self, version: int) -> str: ...


def json_string(value: str | None) -> str:
    return "null" if value is None else encode_basestring(value)


def json_bool(value: bool) -> str:
    return "true" if value else "false"


def json_bytes(value: bytes) -> str:
    return f'"{b64encode(value).decode("ascii")}"'


def json_float64(value: float) -> str:
    """``value`` for JSON, which has no NaN or infinity: as in Kafka, these become texts."""
    return repr(value) if isfinite(value) else f'"{_NOT_FINITE.get(value, _NAN)}"'


@lru_cache(_REMEMBERED)
def json_int32s(value: tuple[int, ...] | None) -> str:
    """Cached: partitions have few different lists of replicas."""
    return "null" if value is None else _array(map(str, value))


def json_uuids(value: tuple[Uuid, ...] | None) -> str:
    return "null" if value is None else _array(f'"{uuid_text(each)}"' for each in value)


def json_strings(value: tuple[str, ...]) -> str:
    return _array(map(encode_basestring, value))


def json_structs(value: Iterable[_HasJson], version: int) -> str:
    return _array(each.json_text(version) for each in value)


def _array(items: Iterable[str]) -> str:
    return f"[{','.join(items)}]"


def to_bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("is not true or false")


def _to_integer(value: object, low: int, high: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise ValueError(f"is not an integer from {low} to {high}")


def to_int8(value: object) -> int:
    return _to_integer(value, -(1 << 7), (1 << 7) - 1)


def to_int16(value: object) -> int:
    return _to_integer(value, -(1 << 15), (1 << 15) - 1)


def to_uint16(value: object) -> int:
    return _to_integer(value, 0, (1 << 16) - 1)


def to_int32(value: object) -> int:
    return _to_integer(value, -(1 << 31), (1 << 31) - 1)


def to_int64(value: object) -> int:
    return _to_integer(value, -(1 << 63), (1 << 63) - 1)


def to_float64(value: object) -> float:
    if isinstance(value, str) and (value == _NAN or value in _NOT_FINITE.values()):
        return float(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        with suppress(OverflowError):
            return float(value)
    raise ValueError("is not a number")


def to_string(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("is not a string")


def to_bytes(value: object) -> bytes:
    return b64decode(to_string(value), validate=True)


def to_uuid(value: object) -> Uuid:
    return parse_uuid(to_string(value))


def from_json(read: Callable[[object], T], data: JsonObject, key: str) -> T:
    if not isinstance(data, Mapping) or key not in data:
        raise InvalidRequest(f"{key} is missing")
    try:
        return read(data[key])
    except ValueError as error:
        raise InvalidRequest(f"{key} {error}") from None


def from_json_nullable(read: Callable[[object], T], data: JsonObject, key: str) -> T | None:
    return from_json(lambda value: None if value is None else read(value), data, key)


def from_json_array(read: Callable[[object], T], data: JsonObject, key: str) -> tuple[T, ...]:
    return from_json(lambda value: _to_items(read, value), data, key)


def from_json_nullable_array(
    read: Callable[[object], T], data: JsonObject, key: str
) -> tuple[T, ...] | None:
    return from_json_nullable(lambda value: _to_items(read, value), data, key)


def _to_items(read: Callable[[object], T], value: object) -> tuple[T, ...]:
    if not isinstance(value, list):
        raise ValueError("is not a list")
    return tuple([read(item) for item in value])


def from_json_struct(
    read: Callable[[JsonObject, int], T], data: JsonObject, key: str, version: int
) -> T:
    return from_json(lambda value: read(_to_object(value), version), data, key)


def from_json_structs(
    read: Callable[[JsonObject, int], T], data: JsonObject, key: str, version: int
) -> tuple[T, ...]:
    return from_json_array(lambda value: read(_to_object(value), version), data, key)


def _to_object(value: object) -> JsonObject:
    if isinstance(value, dict):
        return value
    raise ValueError("is not an object")

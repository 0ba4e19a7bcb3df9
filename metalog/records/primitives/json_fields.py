"""Writes the values of fields in Kafka's JSON form, for a message's ``json_text``.

This module must not know messages.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache
from json.encoder import encode_basestring
from math import inf, isfinite
from typing import Final, Protocol

from metalog.ids import Uuid, uuid_text

_CACHE_SIZE: Final = 1 << 12

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
    """``value`` in JSON. JSON has no NaN or infinity, so Kafka and we write them as strings."""
    return repr(value) if isfinite(value) else f'"{_NOT_FINITE.get(value, _NAN)}"'


@lru_cache(_CACHE_SIZE)
def json_int32s(value: tuple[int, ...] | None) -> str:
    """Cached, because partitions have few different lists of replicas."""
    return "null" if value is None else _array(map(str, value))


def json_uuids(value: tuple[Uuid, ...] | None) -> str:
    return "null" if value is None else _array(f'"{uuid_text(each)}"' for each in value)


def json_strings(value: tuple[str, ...]) -> str:
    return _array(map(encode_basestring, value))


def json_structs(value: Iterable[_HasJson], version: int) -> str:
    return _array(each.json_text(version) for each in value)


def _array(items: Iterable[str]) -> str:
    return f"[{','.join(items)}]"

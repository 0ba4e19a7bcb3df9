"""Hypothesis strategies for every message of the schema, in every version.

This module must not know more of the code under test than ``metalog.records``.
"""

from __future__ import annotations

import sys
from base64 import b64encode, urlsafe_b64encode
from functools import cache
from math import isinf
from typing import Any

from hypothesis import strategies as st

from metalog.records.codegen.typed_field import camel, highest, lowest, snake
from metalog.records.messages.registry import control_message_type, message_type
from metalog.records.schema import CONTROL_RECORDS, METADATA_RECORDS, Field, MessageSchema

SCHEMAS = (*METADATA_RECORDS, *CONTROL_RECORDS)

_texts = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(["x" * 126, "x" * 127])
_PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int8": st.integers(-(1 << 7), (1 << 7) - 1),
    "int16": st.integers(-(1 << 15), (1 << 15) - 1),
    "uint16": st.integers(0, (1 << 16) - 1),
    "int32": st.integers(-(1 << 31), (1 << 31) - 1),
    "int64": st.integers(-(1 << 63), (1 << 63) - 1),
    "float64": st.floats(allow_nan=False),
    "string": _texts,
    "bytes": st.binary(max_size=8),
    "uuid": st.binary(min_size=16, max_size=16),
}
_UNKNOWN_TAGS = st.lists(
    st.tuples(st.integers(100, 200), st.binary(max_size=5)), max_size=3, unique_by=lambda t: t[0]
).map(lambda tags: tuple(sorted(tags)))


def message_class(schema: MessageSchema) -> Any:
    return (message_type if schema in METADATA_RECORDS else control_message_type)(schema.key)


@cache
def messages(schema: MessageSchema, version: int) -> st.SearchStrategy[Any]:
    """Messages that can be written in ``version``."""
    return _structs(message_class(schema), schema.fields, version)


def _structs(cls: Any, fields: tuple[Field, ...], version: int) -> st.SearchStrategy[Any]:
    arguments = {
        snake(field.name): _values(cls, field, fields, version)
        for field in fields
        if version >= lowest(field.versions)
    }
    arguments["unknown_tagged_fields"] = _UNKNOWN_TAGS
    return st.fixed_dictionaries(arguments).map(lambda values: cls(**values))


def _values(
    cls: Any, field: Field, siblings: tuple[Field, ...], version: int
) -> st.SearchStrategy[Any]:
    item = field.type.removeprefix("[]")
    if item in _PRIMITIVES:
        values = _PRIMITIVES[item]
    else:
        struct = getattr(sys.modules[cls.__module__], item)
        values = _structs(struct, _fields_of_struct(item, siblings), version)
    if field.type.startswith("[]"):
        values = st.lists(values, max_size=3).map(tuple)
    return st.none() | values if field.nullable else values


def _fields_of_struct(item: str, siblings: tuple[Field, ...]) -> tuple[Field, ...]:
    """Two fields of one struct type declare its fields once."""
    return next(f.fields for f in siblings if f.type.removeprefix("[]") == item and f.fields)


def json_form(struct: Any, fields: tuple[Field, ...], version: int) -> dict[str, Any]:
    """The JSON form by the schema: fields of ``version``, without tagged ones at the default."""
    default = type(struct)()
    form = {}
    for field in fields:
        value = getattr(struct, snake(field.name))
        is_left_out = field.tag is not None and value == getattr(default, snake(field.name))
        if version >= lowest(field.versions) and not is_left_out:
            form[camel(field.name)] = _json_value(value, field, fields, version)
    return form


def _json_value(value: Any, field: Field, siblings: tuple[Field, ...], version: int) -> Any:
    item = field.type.removeprefix("[]")
    if value is None:
        return None
    if field.type.startswith("[]"):
        return [_json_value(each, field._replace(type=item), siblings, version) for each in value]
    if item not in _PRIMITIVES:
        return json_form(value, _fields_of_struct(item, siblings), version)
    if isinstance(value, bytes):
        return (
            urlsafe_b64encode(value).rstrip(b"=") if item == "uuid" else b64encode(value)
        ).decode()
    if isinstance(value, float) and isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def versions_of(schema: MessageSchema) -> range:
    return range(lowest(schema.versions), highest(schema.versions) + 1)

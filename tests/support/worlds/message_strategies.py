"""Hypothesis strategies for every message of the schema, in every version.

This module must not know more of the code under test than ``metalog.records``.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from hypothesis import strategies as st

from metalog.records.codegen.typed_field import highest, lowest, snake
from metalog.records.messages.registry import control_type, message_type
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
    return (message_type if schema in METADATA_RECORDS else control_type)(schema.key)


@cache
def messages(
    schema: MessageSchema, version: int, *, unknown_tags: bool = True
) -> st.SearchStrategy[Any]:
    """Messages that can be written in ``version``."""
    return _structs(message_class(schema), schema.fields, version, unknown_tags)


def _structs(
    cls: Any, fields: tuple[Field, ...], version: int, unknown_tags: bool
) -> st.SearchStrategy[Any]:
    arguments = {
        snake(field.name): _values(cls, field, fields, version, unknown_tags)
        for field in fields
        if version >= lowest(field.versions)
    }
    if unknown_tags:
        arguments["unknown_tagged_fields"] = _UNKNOWN_TAGS
    return st.fixed_dictionaries(arguments).map(lambda values: cls(**values))


def _values(
    cls: Any, field: Field, siblings: tuple[Field, ...], version: int, unknown_tags: bool
) -> st.SearchStrategy[Any]:
    item = field.type.removeprefix("[]")
    if item in _PRIMITIVES:
        values = _PRIMITIVES[item]
    else:
        declared = next(f for f in siblings if f.type == field.type and f.fields)
        struct = getattr(sys.modules[cls.__module__], item)
        values = _structs(struct, declared.fields, version, unknown_tags)
    if field.type.startswith("[]"):
        values = st.lists(values, max_size=3).map(tuple)
    return st.none() | values if field.nullable else values


def versions_of(schema: MessageSchema) -> range:
    return range(lowest(schema.versions), highest(schema.versions) + 1)

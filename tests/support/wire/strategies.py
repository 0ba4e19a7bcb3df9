"""A hypothesis strategy for any message of a class that kio declares.

It uses the declaration alone. This module must not know the code under test.
"""

from __future__ import annotations

import dataclasses
import datetime
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
BYTES = st.binary(max_size=5)
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False),
    "string": TEXT,
    "bytes": BYTES,
    "records": BYTES,
    "uuid": st.uuids(),
    "error_code": st.sampled_from(ErrorCode),
    "datetime_i64": st.integers(0, 2**40).map(
        lambda ms: (
            datetime.datetime.fromtimestamp(0, datetime.UTC) + datetime.timedelta(milliseconds=ms)
        )
    ),
    "timedelta_i32": st.integers(-1000, 1000).map(lambda ms: datetime.timedelta(milliseconds=ms)),
    "timedelta_i64": st.integers(-1000, 1000).map(lambda ms: datetime.timedelta(milliseconds=ms)),
}


def messages(declared: Any) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {field.name: _field(field) for field in dataclasses.fields(declared)}
    ).map(lambda values: declared(**values))


def _field(field: dataclasses.Field[Any]) -> st.SearchStrategy[Any]:
    kind, is_nullable = _without_none(field.type)
    if get_origin(kind) is tuple:
        inner, _ = _without_none(get_args(kind)[0])
        values: st.SearchStrategy[Any] = st.lists(_element(inner, field), max_size=3).map(tuple)
    else:
        values = _element(kind, field)
    return st.none() | values if is_nullable else values


def _element(kind: Any, field: dataclasses.Field[Any]) -> st.SearchStrategy[Any]:
    if dataclasses.is_dataclass(kind):
        return messages(kind)
    return KINDS[field.metadata["kafka_type"]]


def _without_none(kind: Any) -> tuple[Any, bool]:
    if get_origin(kind) is UnionType:
        return next(each for each in get_args(kind) if each is not NoneType), True
    return kind, False

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of FeatureLevelRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.records.message import Message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_string,
    read_tagged_fields,
    write_string,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import json_string
from metalog.records.primitives.text import decode_text

_INT16: Final = struct.Struct(">h")


class _FeatureLevelRecordFields(NamedTuple):
    name: str = ""
    feature_level: int = 0
    unknown_tagged_fields: TaggedFields = ()


class FeatureLevelRecord(Message, _FeatureLevelRecordFields):
    """Metadata record, api key 12, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 12
    TYPE_NAME: ClassVar[str] = "FEATURE_LEVEL_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[FeatureLevelRecord, int]:
        limit = len(data)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            name = decode_text(data[at + 1 : end])
            at = end
        else:
            name, at = read_string(data, at)
        (feature_level,) = _INT16.unpack_from(data, at)
        at += 2
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(FeatureLevelRecord, (name, feature_level, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.name)
        out += _INT16.pack(self.feature_level)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        name, feature_level, _ = self
        text = f'{{"name":{json_string(name)},"featureLevel":{feature_level}'
        return text + "}"

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of ConfigRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.records.message import Message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_nullable_string,
    read_string,
    read_tagged_fields,
    write_nullable_string,
    write_string,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import json_string
from metalog.records.primitives.text import decode_text

_INT8: Final = struct.Struct(">b")


class _ConfigRecordFields(NamedTuple):
    resource_type: int = 0
    resource_name: str = ""
    name: str = ""
    value: str | None = ""
    unknown_tagged_fields: TaggedFields = ()


class ConfigRecord(Message, _ConfigRecordFields):
    """Metadata record, api key 4, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 4
    TYPE_NAME: ClassVar[str] = "CONFIG_RECORD"
    VERSIONS: ClassVar[range] = range(1)
    SECRETS: ClassVar[frozenset[str]] = frozenset({"value"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[ConfigRecord, int]:
        limit = len(data)
        (resource_type,) = _INT8.unpack_from(data, at)
        at += 1
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            resource_name = decode_text(data[at + 1 : end])
            at = end
        else:
            resource_name, at = read_string(data, at)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            name = decode_text(data[at + 1 : end])
            at = end
        else:
            name, at = read_string(data, at)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            value: str | None = decode_text(data[at + 1 : end])
            at = end
        else:
            value, at = read_nullable_string(data, at)
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(ConfigRecord, (resource_type, resource_name, name, value, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        out += _INT8.pack(self.resource_type)
        write_string(out, self.resource_name)
        write_string(out, self.name)
        write_nullable_string(out, self.value)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        resource_type, resource_name, name, value, _ = self
        text = (
            f'{{"resourceType":{resource_type}'
            f',"resourceName":{json_string(resource_name)}'
            f',"name":{json_string(name)}'
            f',"value":{json_string(value)}'
        )
        return text + "}"

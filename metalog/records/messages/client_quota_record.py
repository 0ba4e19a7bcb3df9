# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of ClientQuotaRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.records.message import Message, Struct
from metalog.records.primitives.fields import (
    TaggedFields,
    read_nullable_string,
    read_string,
    read_structs,
    read_tagged_fields,
    write_nullable_string,
    write_string,
    write_structs,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import (
    json_bool,
    json_float64,
    json_string,
    json_structs,
)
from metalog.records.primitives.text import decode_text

_FLOAT64_BOOL: Final = struct.Struct(">d?")


class _EntityDataFields(NamedTuple):
    entity_type: str = ""
    entity_name: str | None = ""
    unknown_tagged_fields: TaggedFields = ()


class EntityData(Struct, _EntityDataFields):
    __slots__ = ()

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[EntityData, int]:
        limit = len(data)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            entity_type = decode_text(data[at + 1 : end])
            at = end
        else:
            entity_type, at = read_string(data, at)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            entity_name: str | None = decode_text(data[at + 1 : end])
            at = end
        else:
            entity_name, at = read_nullable_string(data, at)
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(EntityData, (entity_type, entity_name, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.entity_type)
        write_nullable_string(out, self.entity_name)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        entity_type, entity_name, _ = self
        text = f'{{"entityType":{json_string(entity_type)},"entityName":{json_string(entity_name)}'
        return text + "}"


class _ClientQuotaRecordFields(NamedTuple):
    entity: tuple[EntityData, ...] = ()
    key: str = ""
    value: float = 0.0
    remove: bool = False
    unknown_tagged_fields: TaggedFields = ()


class ClientQuotaRecord(Message, _ClientQuotaRecordFields):
    """Metadata record, api key 14, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 14
    TYPE_NAME: ClassVar[str] = "CLIENT_QUOTA_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[ClientQuotaRecord, int]:
        limit = len(data)
        entity, at = read_structs(EntityData.decode, data, at, version)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            key = decode_text(data[at + 1 : end])
            at = end
        else:
            key, at = read_string(data, at)
        value, remove = _FLOAT64_BOOL.unpack_from(data, at)
        at += 9
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(ClientQuotaRecord, (entity, key, value, remove, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        write_structs(out, self.entity, version)
        write_string(out, self.key)
        out += _FLOAT64_BOOL.pack(self.value, self.remove)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        entity, key, value, remove, _ = self
        text = (
            f'{{"entity":{json_structs(entity, version)}'
            f',"key":{json_string(key)}'
            f',"value":{json_float64(value)}'
            f',"remove":{json_bool(remove)}'
        )
        return text + "}"

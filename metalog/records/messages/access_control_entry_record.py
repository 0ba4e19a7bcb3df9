# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of AccessControlEntryRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.ids import ZERO_UUID, Uuid, uuid_text
from metalog.records.message import Message
from metalog.records.primitives.fields import (
    TaggedFields,
    check_uuid,
    read_string,
    read_tagged_fields,
    write_string,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import json_string
from metalog.records.primitives.text import decode_text

_INT8: Final = struct.Struct(">b")
_INT8_INT8: Final = struct.Struct(">bb")
_UUID_INT8: Final = struct.Struct(">16sb")


class _AccessControlEntryRecordFields(NamedTuple):
    id: Uuid = ZERO_UUID
    resource_type: int = 0
    resource_name: str = ""
    pattern_type: int = 0
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0
    unknown_tagged_fields: TaggedFields = ()


class AccessControlEntryRecord(Message, _AccessControlEntryRecordFields):
    """Metadata record, api key 18, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 18
    TYPE_NAME: ClassVar[str] = "ACCESS_CONTROL_ENTRY_RECORD"
    VERSIONS: ClassVar[range] = range(1)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"id"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[AccessControlEntryRecord, int]:
        limit = len(data)
        id_, resource_type = _UUID_INT8.unpack_from(data, at)
        at += 17
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            resource_name = decode_text(data[at + 1 : end])
            at = end
        else:
            resource_name, at = read_string(data, at)
        (pattern_type,) = _INT8.unpack_from(data, at)
        at += 1
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            principal = decode_text(data[at + 1 : end])
            at = end
        else:
            principal, at = read_string(data, at)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            host = decode_text(data[at + 1 : end])
            at = end
        else:
            host, at = read_string(data, at)
        operation, permission_type = _INT8_INT8.unpack_from(data, at)
        at += 2
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(
            AccessControlEntryRecord,
            (
                id_,
                resource_type,
                resource_name,
                pattern_type,
                principal,
                host,
                operation,
                permission_type,
                unknown,
            ),
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        check_uuid(self.id)
        out += _UUID_INT8.pack(self.id, self.resource_type)
        write_string(out, self.resource_name)
        out += _INT8.pack(self.pattern_type)
        write_string(out, self.principal)
        write_string(out, self.host)
        out += _INT8_INT8.pack(self.operation, self.permission_type)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        (
            id_,
            resource_type,
            resource_name,
            pattern_type,
            principal,
            host,
            operation,
            permission_type,
            _,
        ) = self
        text = (
            f'{{"id":"{uuid_text(id_)}"'
            f',"resourceType":{resource_type}'
            f',"resourceName":{json_string(resource_name)}'
            f',"patternType":{pattern_type}'
            f',"principal":{json_string(principal)}'
            f',"host":{json_string(host)}'
            f',"operation":{operation}'
            f',"permissionType":{permission_type}'
        )
        return text + "}"

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of RemoveAccessControlEntryRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.ids import ZERO_UUID, Uuid, uuid_text
from metalog.records.message import Message
from metalog.records.primitives.fields import (
    TaggedFields,
    check_uuid,
    read_tagged_fields,
    write_tagged_fields,
)

_UUID: Final = struct.Struct(">16s")


class _RemoveAccessControlEntryRecordFields(NamedTuple):
    id: Uuid = ZERO_UUID
    unknown_tagged_fields: TaggedFields = ()


class RemoveAccessControlEntryRecord(Message, _RemoveAccessControlEntryRecordFields):
    """Metadata record, api key 19, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 19
    TYPE_NAME: ClassVar[str] = "REMOVE_ACCESS_CONTROL_ENTRY_RECORD"
    VERSIONS: ClassVar[range] = range(1)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"id"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[RemoveAccessControlEntryRecord, int]:
        (id_,) = _UUID.unpack_from(data, at)
        at += 16
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(RemoveAccessControlEntryRecord, (id_, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        check_uuid(self.id)
        out += _UUID.pack(self.id)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        id_, _ = self
        text = f'{{"id":"{uuid_text(id_)}"'
        return text + "}"

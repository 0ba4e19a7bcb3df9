# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""RemoveAccessControlEntryRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.ids import ZERO_UUID, Uuid, uuid_text
from metalog.records.message import Message, message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_tagged_fields,
    read_uuid,
    write_tagged_fields,
    write_uuid,
)
from metalog.records.primitives.json_fields import JsonObject, from_json, to_uuid


class _RemoveAccessControlEntryRecordFields(NamedTuple):
    id: Uuid = ZERO_UUID
    unknown_tagged_fields: TaggedFields = ()


@message
class RemoveAccessControlEntryRecord(Message, _RemoveAccessControlEntryRecordFields):
    """Metadata record, api key 19, versions 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 19
    TYPE_NAME: ClassVar[str] = "REMOVE_ACCESS_CONTROL_ENTRY_RECORD"
    VERSIONS: ClassVar[range] = range(1)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"id"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[RemoveAccessControlEntryRecord, int]:
        id_, at = read_uuid(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return RemoveAccessControlEntryRecord(id_, unknown_tagged_fields), at

    def encode(self, out: bytearray, version: int) -> None:
        write_uuid(out, self.id)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["id"] = uuid_text(self.id)
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> RemoveAccessControlEntryRecord:
        id_ = from_json(to_uuid, data, "id")
        return RemoveAccessControlEntryRecord(id_)

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""UnregisterControllerRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.records.message import Message, message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_int32,
    read_tagged_fields,
    write_int32,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import JsonObject, from_json, to_int32


class _UnregisterControllerRecordFields(NamedTuple):
    controller_id: int = 0
    unknown_tagged_fields: TaggedFields = ()


@message
class UnregisterControllerRecord(Message, _UnregisterControllerRecordFields):
    """Metadata record, api key 29, versions 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 29
    TYPE_NAME: ClassVar[str] = "UNREGISTER_CONTROLLER_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[UnregisterControllerRecord, int]:
        controller_id, at = read_int32(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return UnregisterControllerRecord(controller_id, unknown_tagged_fields), at

    def encode(self, out: bytearray, version: int) -> None:
        write_int32(out, self.controller_id)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["controllerId"] = self.controller_id
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> UnregisterControllerRecord:
        controller_id = from_json(to_int32, data, "controllerId")
        return UnregisterControllerRecord(controller_id)

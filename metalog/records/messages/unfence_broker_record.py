# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""UnfenceBrokerRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.records.message import Message, message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_int32,
    read_int64,
    read_tagged_fields,
    write_int32,
    write_int64,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import JsonObject, from_json, to_int32, to_int64


class _UnfenceBrokerRecordFields(NamedTuple):
    id: int = 0
    epoch: int = 0
    unknown_tagged_fields: TaggedFields = ()


@message
class UnfenceBrokerRecord(Message, _UnfenceBrokerRecordFields):
    """Metadata record, api key 8, versions 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 8
    TYPE_NAME: ClassVar[str] = "UNFENCE_BROKER_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[UnfenceBrokerRecord, int]:
        id_, at = read_int32(data, at)
        epoch, at = read_int64(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return UnfenceBrokerRecord(id_, epoch, unknown_tagged_fields), at

    def encode(self, out: bytearray, version: int) -> None:
        write_int32(out, self.id)
        write_int64(out, self.epoch)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["id"] = self.id
        data["epoch"] = self.epoch
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> UnfenceBrokerRecord:
        id_ = from_json(to_int32, data, "id")
        epoch = from_json(to_int64, data, "epoch")
        return UnfenceBrokerRecord(id_, epoch)

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""RemoveTopicRecord: Kafka's definition as a typed, straight-line codec."""

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


class _RemoveTopicRecordFields(NamedTuple):
    topic_id: Uuid = ZERO_UUID
    unknown_tagged_fields: TaggedFields = ()


@message
class RemoveTopicRecord(Message, _RemoveTopicRecordFields):
    """Metadata record, api key 9, versions 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 9
    TYPE_NAME: ClassVar[str] = "REMOVE_TOPIC_RECORD"
    VERSIONS: ClassVar[range] = range(1)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"topic_id"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[RemoveTopicRecord, int]:
        topic_id, at = read_uuid(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return RemoveTopicRecord(topic_id, unknown_tagged_fields), at

    def encode(self, out: bytearray, version: int) -> None:
        write_uuid(out, self.topic_id)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["topicId"] = uuid_text(self.topic_id)
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> RemoveTopicRecord:
        topic_id = from_json(to_uuid, data, "topicId")
        return RemoveTopicRecord(topic_id)

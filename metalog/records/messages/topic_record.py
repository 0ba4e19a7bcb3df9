# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""TopicRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.ids import ZERO_UUID, Uuid, uuid_text
from metalog.records.message import Message, message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_string,
    read_tagged_fields,
    read_uuid,
    write_string,
    write_tagged_fields,
    write_uuid,
)
from metalog.records.primitives.json_fields import JsonObject, from_json, to_string, to_uuid


class _TopicRecordFields(NamedTuple):
    name: str = ""
    topic_id: Uuid = ZERO_UUID
    unknown_tagged_fields: TaggedFields = ()


@message
class TopicRecord(Message, _TopicRecordFields):
    """Metadata record, api key 2, versions 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 2
    TYPE_NAME: ClassVar[str] = "TOPIC_RECORD"
    VERSIONS: ClassVar[range] = range(1)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"topic_id"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[TopicRecord, int]:
        name, at = read_string(data, at)
        topic_id, at = read_uuid(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return TopicRecord(name, topic_id, unknown_tagged_fields), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.name)
        write_uuid(out, self.topic_id)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["name"] = self.name
        data["topicId"] = uuid_text(self.topic_id)
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> TopicRecord:
        name = from_json(to_string, data, "name")
        topic_id = from_json(to_uuid, data, "topicId")
        return TopicRecord(name, topic_id)

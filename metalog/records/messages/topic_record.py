# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of TopicRecord, with its codec."""

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

_UUID: Final = struct.Struct(">16s")


class _TopicRecordFields(NamedTuple):
    name: str = ""
    topic_id: Uuid = ZERO_UUID
    unknown_tagged_fields: TaggedFields = ()


class TopicRecord(Message, _TopicRecordFields):
    """Metadata record, api key 2, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 2
    TYPE_NAME: ClassVar[str] = "TOPIC_RECORD"
    VERSIONS: ClassVar[range] = range(1)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"topic_id"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[TopicRecord, int]:
        limit = len(data)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            name = decode_text(data[at + 1 : end])
            at = end
        else:
            name, at = read_string(data, at)
        (topic_id,) = _UUID.unpack_from(data, at)
        at += 16
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(TopicRecord, (name, topic_id, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.name)
        check_uuid(self.topic_id)
        out += _UUID.pack(self.topic_id)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        name, topic_id, _ = self
        text = f'{{"name":{json_string(name)},"topicId":"{uuid_text(topic_id)}"'
        return text + "}"

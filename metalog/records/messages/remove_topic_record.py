# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of RemoveTopicRecord, with its codec."""

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


class _RemoveTopicRecordFields(NamedTuple):
    topic_id: Uuid = ZERO_UUID
    unknown_tagged_fields: TaggedFields = ()


class RemoveTopicRecord(Message, _RemoveTopicRecordFields):
    """Metadata record, api key 9, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 9
    TYPE_NAME: ClassVar[str] = "REMOVE_TOPIC_RECORD"
    VERSIONS: ClassVar[range] = range(1)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"topic_id"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[RemoveTopicRecord, int]:
        (topic_id,) = _UUID.unpack_from(data, at)
        at += 16
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(RemoveTopicRecord, (topic_id, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        check_uuid(self.topic_id)
        out += _UUID.pack(self.topic_id)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        topic_id, _ = self
        text = f'{{"topicId":"{uuid_text(topic_id)}"'
        return text + "}"

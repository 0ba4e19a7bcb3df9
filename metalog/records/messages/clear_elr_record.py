# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of ClearElrRecord, with its codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.records.message import Message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_string,
    read_tagged_fields,
    write_string,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import json_string
from metalog.records.primitives.text import decode_text


class _ClearElrRecordFields(NamedTuple):
    topic_name: str = ""
    unknown_tagged_fields: TaggedFields = ()


class ClearElrRecord(Message, _ClearElrRecordFields):
    """Metadata record, api key 28, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 28
    TYPE_NAME: ClassVar[str] = "CLEAR_ELR_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[ClearElrRecord, int]:
        limit = len(data)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            topic_name = decode_text(data[at + 1 : end])
            at = end
        else:
            topic_name, at = read_string(data, at)
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(ClearElrRecord, (topic_name, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.topic_name)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        topic_name, _ = self
        text = f'{{"topicName":{json_string(topic_name)}'
        return text + "}"

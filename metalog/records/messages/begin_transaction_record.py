# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of BeginTransactionRecord, with its codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.records.message import Message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_nullable_string,
    read_tag,
    read_tag_count,
    refuse_tagged_field,
    write_nullable_string,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import json_string
from metalog.records.primitives.text import decode_text


class _BeginTransactionRecordFields(NamedTuple):
    name: str | None = None
    unknown_tagged_fields: TaggedFields = ()


class BeginTransactionRecord(Message, _BeginTransactionRecordFields):
    """Metadata record, api key 23, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 23
    TYPE_NAME: ClassVar[str] = "BEGIN_TRANSACTION_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[BeginTransactionRecord, int]:
        limit = len(data)
        name: str | None = None
        unknown: list[tuple[int, bytes]] = []
        tags = data[at]
        at += 1
        if tags >= 0x80:
            tags, at = read_tag_count(data, at - 1)
        for _ in range(tags):
            tag, size = data[at], data[at + 1]
            at += 2
            if tag >= 0x80 or size >= 0x80 or at + size > limit:
                tag, size, at = read_tag(data, at - 2)
            field_end = at + size
            if tag == 0:
                length = data[at]
                end = at + length
                if 0 < length < 0x80 and end <= limit:
                    name = decode_text(data[at + 1 : end])
                    at = end
                else:
                    name, at = read_nullable_string(data, at)
            else:
                unknown.append((tag, data[at:field_end]))
                at = field_end
            if at != field_end:
                refuse_tagged_field(tag, size, at - (field_end - size))
        return tuple.__new__(BeginTransactionRecord, (name, tuple(unknown))), at

    def encode(self, out: bytearray, version: int) -> None:
        tagged: list[tuple[int, bytes]] = []
        if self.name is not None:
            field = bytearray()
            write_nullable_string(field, self.name)
            tagged.append((0, bytes(field)))
        write_tagged_fields(out, (*tagged, *self.unknown_tagged_fields))

    def json_text(self, version: int) -> str:
        name, _ = self
        text = ""
        if name is not None:
            text += f',"name":{json_string(name)}'
        return f"{{{text[1:]}}}"

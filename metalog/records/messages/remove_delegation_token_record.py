# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of RemoveDelegationTokenRecord, with its codec."""

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


class _RemoveDelegationTokenRecordFields(NamedTuple):
    token_id: str = ""
    unknown_tagged_fields: TaggedFields = ()


class RemoveDelegationTokenRecord(Message, _RemoveDelegationTokenRecordFields):
    """Metadata record, api key 26, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 26
    TYPE_NAME: ClassVar[str] = "REMOVE_DELEGATION_TOKEN_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[RemoveDelegationTokenRecord, int]:
        limit = len(data)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            token_id = decode_text(data[at + 1 : end])
            at = end
        else:
            token_id, at = read_string(data, at)
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(RemoveDelegationTokenRecord, (token_id, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.token_id)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        token_id, _ = self
        text = f'{{"tokenId":{json_string(token_id)}'
        return text + "}"

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""RemoveDelegationTokenRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.records.message import Message, message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_string,
    read_tagged_fields,
    write_string,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import JsonObject, from_json, to_string


class _RemoveDelegationTokenRecordFields(NamedTuple):
    token_id: str = ""
    unknown_tagged_fields: TaggedFields = ()


@message
class RemoveDelegationTokenRecord(Message, _RemoveDelegationTokenRecordFields):
    """Metadata record, api key 26, versions 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 26
    TYPE_NAME: ClassVar[str] = "REMOVE_DELEGATION_TOKEN_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[RemoveDelegationTokenRecord, int]:
        token_id, at = read_string(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return RemoveDelegationTokenRecord(token_id, unknown_tagged_fields), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.token_id)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["tokenId"] = self.token_id
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> RemoveDelegationTokenRecord:
        token_id = from_json(to_string, data, "tokenId")
        return RemoveDelegationTokenRecord(token_id)

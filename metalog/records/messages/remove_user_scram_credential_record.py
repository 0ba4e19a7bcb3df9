# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""RemoveUserScramCredentialRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.records.message import Message, message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_int8,
    read_string,
    read_tagged_fields,
    write_int8,
    write_string,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import JsonObject, from_json, to_int8, to_string


class _RemoveUserScramCredentialRecordFields(NamedTuple):
    name: str = ""
    mechanism: int = 0
    unknown_tagged_fields: TaggedFields = ()


@message
class RemoveUserScramCredentialRecord(Message, _RemoveUserScramCredentialRecordFields):
    """Metadata record, api key 22, versions 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 22
    TYPE_NAME: ClassVar[str] = "REMOVE_USER_SCRAM_CREDENTIAL_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[RemoveUserScramCredentialRecord, int]:
        name, at = read_string(data, at)
        mechanism, at = read_int8(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return RemoveUserScramCredentialRecord(name, mechanism, unknown_tagged_fields), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.name)
        write_int8(out, self.mechanism)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["name"] = self.name
        data["mechanism"] = self.mechanism
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> RemoveUserScramCredentialRecord:
        name = from_json(to_string, data, "name")
        mechanism = from_json(to_int8, data, "mechanism")
        return RemoveUserScramCredentialRecord(name, mechanism)

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""UserScramCredentialRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.records.message import Message, message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_bytes,
    read_int8,
    read_int32,
    read_string,
    read_tagged_fields,
    write_bytes,
    write_int8,
    write_int32,
    write_string,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import (
    JsonObject,
    from_json,
    json_bytes,
    to_bytes,
    to_int8,
    to_int32,
    to_string,
)


class _UserScramCredentialRecordFields(NamedTuple):
    name: str = ""
    mechanism: int = 0
    salt: bytes = b""
    stored_key: bytes = b""
    server_key: bytes = b""
    iterations: int = 0
    unknown_tagged_fields: TaggedFields = ()


@message
class UserScramCredentialRecord(Message, _UserScramCredentialRecordFields):
    """Metadata record, api key 11, versions 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 11
    TYPE_NAME: ClassVar[str] = "USER_SCRAM_CREDENTIAL_RECORD"
    VERSIONS: ClassVar[range] = range(1)
    SECRETS: ClassVar[frozenset[str]] = frozenset({"salt", "stored_key", "server_key"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[UserScramCredentialRecord, int]:
        name, at = read_string(data, at)
        mechanism, at = read_int8(data, at)
        salt, at = read_bytes(data, at)
        stored_key, at = read_bytes(data, at)
        server_key, at = read_bytes(data, at)
        iterations, at = read_int32(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return UserScramCredentialRecord(
            name, mechanism, salt, stored_key, server_key, iterations, unknown_tagged_fields
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.name)
        write_int8(out, self.mechanism)
        write_bytes(out, self.salt)
        write_bytes(out, self.stored_key)
        write_bytes(out, self.server_key)
        write_int32(out, self.iterations)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["name"] = self.name
        data["mechanism"] = self.mechanism
        data["salt"] = json_bytes(self.salt)
        data["storedKey"] = json_bytes(self.stored_key)
        data["serverKey"] = json_bytes(self.server_key)
        data["iterations"] = self.iterations
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> UserScramCredentialRecord:
        name = from_json(to_string, data, "name")
        mechanism = from_json(to_int8, data, "mechanism")
        salt = from_json(to_bytes, data, "salt")
        stored_key = from_json(to_bytes, data, "storedKey")
        server_key = from_json(to_bytes, data, "serverKey")
        iterations = from_json(to_int32, data, "iterations")
        return UserScramCredentialRecord(name, mechanism, salt, stored_key, server_key, iterations)

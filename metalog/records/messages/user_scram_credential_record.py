# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of UserScramCredentialRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.records.message import Message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_bytes,
    read_string,
    read_tagged_fields,
    write_bytes,
    write_string,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import json_bytes, json_string
from metalog.records.primitives.text import decode_text

_INT32: Final = struct.Struct(">i")
_INT8: Final = struct.Struct(">b")


class _UserScramCredentialRecordFields(NamedTuple):
    name: str = ""
    mechanism: int = 0
    salt: bytes = b""
    stored_key: bytes = b""
    server_key: bytes = b""
    iterations: int = 0
    unknown_tagged_fields: TaggedFields = ()


class UserScramCredentialRecord(Message, _UserScramCredentialRecordFields):
    """Metadata record, api key 11, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 11
    TYPE_NAME: ClassVar[str] = "USER_SCRAM_CREDENTIAL_RECORD"
    VERSIONS: ClassVar[range] = range(1)
    SECRETS: ClassVar[frozenset[str]] = frozenset({"salt", "stored_key", "server_key"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[UserScramCredentialRecord, int]:
        limit = len(data)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            name = decode_text(data[at + 1 : end])
            at = end
        else:
            name, at = read_string(data, at)
        (mechanism,) = _INT8.unpack_from(data, at)
        at += 1
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            salt = data[at + 1 : end]
            at = end
        else:
            salt, at = read_bytes(data, at)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            stored_key = data[at + 1 : end]
            at = end
        else:
            stored_key, at = read_bytes(data, at)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            server_key = data[at + 1 : end]
            at = end
        else:
            server_key, at = read_bytes(data, at)
        (iterations,) = _INT32.unpack_from(data, at)
        at += 4
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(
            UserScramCredentialRecord,
            (name, mechanism, salt, stored_key, server_key, iterations, unknown),
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.name)
        out += _INT8.pack(self.mechanism)
        write_bytes(out, self.salt)
        write_bytes(out, self.stored_key)
        write_bytes(out, self.server_key)
        out += _INT32.pack(self.iterations)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        name, mechanism, salt, stored_key, server_key, iterations, _ = self
        text = (
            f'{{"name":{json_string(name)}'
            f',"mechanism":{mechanism}'
            f',"salt":{json_bytes(salt)}'
            f',"storedKey":{json_bytes(stored_key)}'
            f',"serverKey":{json_bytes(server_key)}'
            f',"iterations":{iterations}'
        )
        return text + "}"

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of RemoveUserScramCredentialRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

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

_INT8: Final = struct.Struct(">b")


class _RemoveUserScramCredentialRecordFields(NamedTuple):
    name: str = ""
    mechanism: int = 0
    unknown_tagged_fields: TaggedFields = ()


class RemoveUserScramCredentialRecord(Message, _RemoveUserScramCredentialRecordFields):
    """Metadata record, api key 22, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 22
    TYPE_NAME: ClassVar[str] = "REMOVE_USER_SCRAM_CREDENTIAL_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[RemoveUserScramCredentialRecord, int]:
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
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(RemoveUserScramCredentialRecord, (name, mechanism, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.name)
        out += _INT8.pack(self.mechanism)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        name, mechanism, _ = self
        text = f'{{"name":{json_string(name)},"mechanism":{mechanism}'
        return text + "}"

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of DelegationTokenRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.records.message import Message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_array,
    read_string,
    read_tagged_fields,
    write_array,
    write_string,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import json_string, json_strings
from metalog.records.primitives.text import decode_text

_INT64_INT64_INT64: Final = struct.Struct(">qqq")


class _DelegationTokenRecordFields(NamedTuple):
    owner: str = ""
    requester: str = ""
    renewers: tuple[str, ...] = ()
    issue_timestamp: int = 0
    max_timestamp: int = 0
    expiration_timestamp: int = 0
    token_id: str = ""
    unknown_tagged_fields: TaggedFields = ()


class DelegationTokenRecord(Message, _DelegationTokenRecordFields):
    """Metadata record, api key 10, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 10
    TYPE_NAME: ClassVar[str] = "DELEGATION_TOKEN_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[DelegationTokenRecord, int]:
        limit = len(data)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            owner = decode_text(data[at + 1 : end])
            at = end
        else:
            owner, at = read_string(data, at)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            requester = decode_text(data[at + 1 : end])
            at = end
        else:
            requester, at = read_string(data, at)
        renewers, at = read_array(read_string, data, at)
        issue_timestamp, max_timestamp, expiration_timestamp = _INT64_INT64_INT64.unpack_from(
            data, at
        )
        at += 24
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
        return tuple.__new__(
            DelegationTokenRecord,
            (
                owner,
                requester,
                renewers,
                issue_timestamp,
                max_timestamp,
                expiration_timestamp,
                token_id,
                unknown,
            ),
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.owner)
        write_string(out, self.requester)
        write_array(write_string, out, self.renewers)
        out += _INT64_INT64_INT64.pack(
            self.issue_timestamp, self.max_timestamp, self.expiration_timestamp
        )
        write_string(out, self.token_id)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        (
            owner,
            requester,
            renewers,
            issue_timestamp,
            max_timestamp,
            expiration_timestamp,
            token_id,
            _,
        ) = self
        text = (
            f'{{"owner":{json_string(owner)}'
            f',"requester":{json_string(requester)}'
            f',"renewers":{json_strings(renewers)}'
            f',"issueTimestamp":{issue_timestamp}'
            f',"maxTimestamp":{max_timestamp}'
            f',"expirationTimestamp":{expiration_timestamp}'
            f',"tokenId":{json_string(token_id)}'
        )
        return text + "}"

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""DelegationTokenRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.records.message import Message, message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_array,
    read_int64,
    read_string,
    read_tagged_fields,
    write_array,
    write_int64,
    write_string,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import (
    JsonObject,
    from_json,
    from_json_array,
    to_int64,
    to_string,
)


class _DelegationTokenRecordFields(NamedTuple):
    owner: str = ""
    requester: str = ""
    renewers: tuple[str, ...] = ()
    issue_timestamp: int = 0
    max_timestamp: int = 0
    expiration_timestamp: int = 0
    token_id: str = ""
    unknown_tagged_fields: TaggedFields = ()


@message
class DelegationTokenRecord(Message, _DelegationTokenRecordFields):
    """Metadata record, api key 10, versions 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 10
    TYPE_NAME: ClassVar[str] = "DELEGATION_TOKEN_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[DelegationTokenRecord, int]:
        owner, at = read_string(data, at)
        requester, at = read_string(data, at)
        renewers, at = read_array(read_string, data, at)
        issue_timestamp, at = read_int64(data, at)
        max_timestamp, at = read_int64(data, at)
        expiration_timestamp, at = read_int64(data, at)
        token_id, at = read_string(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return DelegationTokenRecord(
            owner,
            requester,
            renewers,
            issue_timestamp,
            max_timestamp,
            expiration_timestamp,
            token_id,
            unknown_tagged_fields,
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.owner)
        write_string(out, self.requester)
        write_array(write_string, out, self.renewers)
        write_int64(out, self.issue_timestamp)
        write_int64(out, self.max_timestamp)
        write_int64(out, self.expiration_timestamp)
        write_string(out, self.token_id)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["owner"] = self.owner
        data["requester"] = self.requester
        data["renewers"] = list(self.renewers)
        data["issueTimestamp"] = self.issue_timestamp
        data["maxTimestamp"] = self.max_timestamp
        data["expirationTimestamp"] = self.expiration_timestamp
        data["tokenId"] = self.token_id
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> DelegationTokenRecord:
        owner = from_json(to_string, data, "owner")
        requester = from_json(to_string, data, "requester")
        renewers = from_json_array(to_string, data, "renewers")
        issue_timestamp = from_json(to_int64, data, "issueTimestamp")
        max_timestamp = from_json(to_int64, data, "maxTimestamp")
        expiration_timestamp = from_json(to_int64, data, "expirationTimestamp")
        token_id = from_json(to_string, data, "tokenId")
        return DelegationTokenRecord(
            owner,
            requester,
            renewers,
            issue_timestamp,
            max_timestamp,
            expiration_timestamp,
            token_id,
        )

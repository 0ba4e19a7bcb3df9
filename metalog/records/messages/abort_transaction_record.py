# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""AbortTransactionRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.records.message import Message, message
from metalog.records.primitives.fields import (
    TaggedFields,
    check_tagged_field_end,
    read_nullable_string,
    read_tagged_fields,
    write_nullable_string,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import JsonObject, from_json_nullable, to_string


class _AbortTransactionRecordFields(NamedTuple):
    reason: str | None = None
    unknown_tagged_fields: TaggedFields = ()


@message
class AbortTransactionRecord(Message, _AbortTransactionRecordFields):
    """Metadata record, api key 25, versions 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 25
    TYPE_NAME: ClassVar[str] = "ABORT_TRANSACTION_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[AbortTransactionRecord, int]:
        reason: str | None = None
        tagged, at = read_tagged_fields(data, at)
        unknown: list[tuple[int, bytes]] = []
        for tag, field in tagged:
            if tag == 0:
                reason, end = read_nullable_string(field, 0)
                check_tagged_field_end(tag, field, end)
            else:
                unknown.append((tag, field))
        return AbortTransactionRecord(reason, tuple(unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        tagged: list[tuple[int, bytes]] = []
        if self.reason is not None:
            field = bytearray()
            write_nullable_string(field, self.reason)
            tagged.append((0, bytes(field)))
        write_tagged_fields(out, (*tagged, *self.unknown_tagged_fields))

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        if self.reason is not None:
            data["reason"] = self.reason
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> AbortTransactionRecord:
        reason: str | None = None
        if "reason" in data:
            reason = from_json_nullable(to_string, data, "reason")
        return AbortTransactionRecord(reason)

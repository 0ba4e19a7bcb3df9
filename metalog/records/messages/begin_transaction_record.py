# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""BeginTransactionRecord: Kafka's definition as a typed, straight-line codec."""

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


class _BeginTransactionRecordFields(NamedTuple):
    name: str | None = None
    unknown_tagged_fields: TaggedFields = ()


@message
class BeginTransactionRecord(Message, _BeginTransactionRecordFields):
    """Metadata record, api key 23, versions 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 23
    TYPE_NAME: ClassVar[str] = "BEGIN_TRANSACTION_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[BeginTransactionRecord, int]:
        name: str | None = None
        tagged, at = read_tagged_fields(data, at)
        unknown: list[tuple[int, bytes]] = []
        for tag, field in tagged:
            if tag == 0:
                name, end = read_nullable_string(field, 0)
                check_tagged_field_end(tag, field, end)
            else:
                unknown.append((tag, field))
        return BeginTransactionRecord(name, tuple(unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        tagged: list[tuple[int, bytes]] = []
        if self.name is not None:
            field = bytearray()
            write_nullable_string(field, self.name)
            tagged.append((0, bytes(field)))
        write_tagged_fields(out, (*tagged, *self.unknown_tagged_fields))

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        if self.name is not None:
            data["name"] = self.name
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> BeginTransactionRecord:
        name: str | None = None
        if "name" in data:
            name = from_json_nullable(to_string, data, "name")
        return BeginTransactionRecord(name)

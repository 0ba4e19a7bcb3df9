# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of EndTransactionRecord, with its codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.records.message import Message
from metalog.records.primitives.fields import TaggedFields, read_tagged_fields, write_tagged_fields


class _EndTransactionRecordFields(NamedTuple):
    unknown_tagged_fields: TaggedFields = ()


class EndTransactionRecord(Message, _EndTransactionRecordFields):
    """Metadata record, api key 24, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 24
    TYPE_NAME: ClassVar[str] = "END_TRANSACTION_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[EndTransactionRecord, int]:
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(EndTransactionRecord, (unknown,)), at

    def encode(self, out: bytearray, version: int) -> None:
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        text = ""
        return f"{{{text[1:]}}}"

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of UnfenceBrokerRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.records.message import Message
from metalog.records.primitives.fields import TaggedFields, read_tagged_fields, write_tagged_fields

_INT32_INT64: Final = struct.Struct(">iq")


class _UnfenceBrokerRecordFields(NamedTuple):
    id: int = 0
    epoch: int = 0
    unknown_tagged_fields: TaggedFields = ()


class UnfenceBrokerRecord(Message, _UnfenceBrokerRecordFields):
    """Metadata record, api key 8, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 8
    TYPE_NAME: ClassVar[str] = "UNFENCE_BROKER_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[UnfenceBrokerRecord, int]:
        id_, epoch = _INT32_INT64.unpack_from(data, at)
        at += 12
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(UnfenceBrokerRecord, (id_, epoch, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        out += _INT32_INT64.pack(self.id, self.epoch)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        id_, epoch, _ = self
        text = f'{{"id":{id_},"epoch":{epoch}'
        return text + "}"

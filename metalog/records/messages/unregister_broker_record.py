# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of UnregisterBrokerRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.records.message import Message
from metalog.records.primitives.fields import TaggedFields, read_tagged_fields, write_tagged_fields

_INT32_INT64: Final = struct.Struct(">iq")


class _UnregisterBrokerRecordFields(NamedTuple):
    broker_id: int = 0
    broker_epoch: int = 0
    unknown_tagged_fields: TaggedFields = ()


class UnregisterBrokerRecord(Message, _UnregisterBrokerRecordFields):
    """Metadata record, api key 1, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 1
    TYPE_NAME: ClassVar[str] = "UNREGISTER_BROKER_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[UnregisterBrokerRecord, int]:
        broker_id, broker_epoch = _INT32_INT64.unpack_from(data, at)
        at += 12
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(UnregisterBrokerRecord, (broker_id, broker_epoch, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        out += _INT32_INT64.pack(self.broker_id, self.broker_epoch)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        broker_id, broker_epoch, _ = self
        text = f'{{"brokerId":{broker_id},"brokerEpoch":{broker_epoch}'
        return text + "}"

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of ProducerIdsRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.records.message import Message
from metalog.records.primitives.fields import TaggedFields, read_tagged_fields, write_tagged_fields

_INT32_INT64_INT64: Final = struct.Struct(">iqq")


class _ProducerIdsRecordFields(NamedTuple):
    broker_id: int = 0
    broker_epoch: int = -1
    next_producer_id: int = 0
    unknown_tagged_fields: TaggedFields = ()


class ProducerIdsRecord(Message, _ProducerIdsRecordFields):
    """Metadata record, api key 15, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 15
    TYPE_NAME: ClassVar[str] = "PRODUCER_IDS_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[ProducerIdsRecord, int]:
        broker_id, broker_epoch, next_producer_id = _INT32_INT64_INT64.unpack_from(data, at)
        at += 20
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(
            ProducerIdsRecord, (broker_id, broker_epoch, next_producer_id, unknown)
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        out += _INT32_INT64_INT64.pack(self.broker_id, self.broker_epoch, self.next_producer_id)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        broker_id, broker_epoch, next_producer_id, _ = self
        text = (
            f'{{"brokerId":{broker_id}'
            f',"brokerEpoch":{broker_epoch}'
            f',"nextProducerId":{next_producer_id}'
        )
        return text + "}"

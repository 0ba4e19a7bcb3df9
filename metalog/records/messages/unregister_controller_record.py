# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of UnregisterControllerRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.records.message import Message
from metalog.records.primitives.fields import TaggedFields, read_tagged_fields, write_tagged_fields

_INT32: Final = struct.Struct(">i")


class _UnregisterControllerRecordFields(NamedTuple):
    controller_id: int = 0
    unknown_tagged_fields: TaggedFields = ()


class UnregisterControllerRecord(Message, _UnregisterControllerRecordFields):
    """Metadata record, api key 29, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 29
    TYPE_NAME: ClassVar[str] = "UNREGISTER_CONTROLLER_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[UnregisterControllerRecord, int]:
        (controller_id,) = _INT32.unpack_from(data, at)
        at += 4
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(UnregisterControllerRecord, (controller_id, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        out += _INT32.pack(self.controller_id)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        controller_id, _ = self
        text = f'{{"controllerId":{controller_id}'
        return text + "}"

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of SnapshotFooterRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.records.message import ControlMessage
from metalog.records.primitives.fields import TaggedFields, read_tagged_fields, write_tagged_fields

_INT16: Final = struct.Struct(">h")


class _SnapshotFooterRecordFields(NamedTuple):
    version: int = 0
    unknown_tagged_fields: TaggedFields = ()


class SnapshotFooterRecord(ControlMessage, _SnapshotFooterRecordFields):
    """Control record, type 4, version 0."""

    __slots__ = ()
    CONTROL_TYPE: ClassVar[int] = 4
    TYPE_NAME: ClassVar[str] = "SNAPSHOT_FOOTER"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[SnapshotFooterRecord, int]:
        (version_,) = _INT16.unpack_from(data, at)
        at += 2
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(SnapshotFooterRecord, (version_, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        out += _INT16.pack(self.version)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        version_, _ = self
        text = f'{{"version":{version_}'
        return text + "}"

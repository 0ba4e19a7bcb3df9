# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of KRaftVersionRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.records.message import ControlMessage
from metalog.records.primitives.fields import TaggedFields, read_tagged_fields, write_tagged_fields

_INT16_INT16: Final = struct.Struct(">hh")


class _KRaftVersionRecordFields(NamedTuple):
    version: int = 0
    kraft_version: int = 0
    unknown_tagged_fields: TaggedFields = ()


class KRaftVersionRecord(ControlMessage, _KRaftVersionRecordFields):
    """Control record, type 5, version 0."""

    __slots__ = ()
    CONTROL_TYPE: ClassVar[int] = 5
    TYPE_NAME: ClassVar[str] = "KRAFT_VERSION"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[KRaftVersionRecord, int]:
        version_, kraft_version = _INT16_INT16.unpack_from(data, at)
        at += 4
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(KRaftVersionRecord, (version_, kraft_version, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        out += _INT16_INT16.pack(self.version, self.kraft_version)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        version_, kraft_version, _ = self
        text = f'{{"version":{version_},"kRaftVersion":{kraft_version}'
        return text + "}"

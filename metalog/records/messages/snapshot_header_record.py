# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of SnapshotHeaderRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.records.message import ControlMessage
from metalog.records.primitives.fields import TaggedFields, read_tagged_fields, write_tagged_fields

_INT16_INT64: Final = struct.Struct(">hq")


class _SnapshotHeaderRecordFields(NamedTuple):
    version: int = 0
    last_contained_log_timestamp: int = 0
    unknown_tagged_fields: TaggedFields = ()


class SnapshotHeaderRecord(ControlMessage, _SnapshotHeaderRecordFields):
    """Control record, type 3, version 0."""

    __slots__ = ()
    CONTROL_TYPE: ClassVar[int] = 3
    TYPE_NAME: ClassVar[str] = "SNAPSHOT_HEADER"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[SnapshotHeaderRecord, int]:
        version_, last_contained_log_timestamp = _INT16_INT64.unpack_from(data, at)
        at += 10
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(
            SnapshotHeaderRecord, (version_, last_contained_log_timestamp, unknown)
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        out += _INT16_INT64.pack(self.version, self.last_contained_log_timestamp)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        version_, last_contained_log_timestamp, _ = self
        text = f'{{"version":{version_},"lastContainedLogTimestamp":{last_contained_log_timestamp}'
        return text + "}"

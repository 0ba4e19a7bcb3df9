# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""SnapshotFooterRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.records.message import ControlMessage, message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_int16,
    read_tagged_fields,
    write_int16,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import JsonObject, from_json, to_int16


class _SnapshotFooterRecordFields(NamedTuple):
    version: int = 0
    unknown_tagged_fields: TaggedFields = ()


@message
class SnapshotFooterRecord(ControlMessage, _SnapshotFooterRecordFields):
    """Control record, type 4, versions 0."""

    __slots__ = ()
    CONTROL_TYPE: ClassVar[int] = 4
    TYPE_NAME: ClassVar[str] = "SNAPSHOT_FOOTER"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[SnapshotFooterRecord, int]:
        version_, at = read_int16(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return SnapshotFooterRecord(version_, unknown_tagged_fields), at

    def encode(self, out: bytearray, version: int) -> None:
        write_int16(out, self.version)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["version"] = self.version
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> SnapshotFooterRecord:
        version_ = from_json(to_int16, data, "version")
        return SnapshotFooterRecord(version_)

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""SnapshotHeaderRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.records.message import ControlMessage, message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_int16,
    read_int64,
    read_tagged_fields,
    write_int16,
    write_int64,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import JsonObject, from_json, to_int16, to_int64


class _SnapshotHeaderRecordFields(NamedTuple):
    version: int = 0
    last_contained_log_timestamp: int = 0
    unknown_tagged_fields: TaggedFields = ()


@message
class SnapshotHeaderRecord(ControlMessage, _SnapshotHeaderRecordFields):
    """Control record, type 3, versions 0."""

    __slots__ = ()
    CONTROL_TYPE: ClassVar[int] = 3
    TYPE_NAME: ClassVar[str] = "SNAPSHOT_HEADER"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[SnapshotHeaderRecord, int]:
        version_, at = read_int16(data, at)
        last_contained_log_timestamp, at = read_int64(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return SnapshotHeaderRecord(
            version_, last_contained_log_timestamp, unknown_tagged_fields
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        write_int16(out, self.version)
        write_int64(out, self.last_contained_log_timestamp)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["version"] = self.version
        data["lastContainedLogTimestamp"] = self.last_contained_log_timestamp
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> SnapshotHeaderRecord:
        version_ = from_json(to_int16, data, "version")
        last_contained_log_timestamp = from_json(to_int64, data, "lastContainedLogTimestamp")
        return SnapshotHeaderRecord(version_, last_contained_log_timestamp)

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""ZkMigrationStateRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.records.message import Message, message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_int8,
    read_tagged_fields,
    write_int8,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import JsonObject, from_json, to_int8


class _ZkMigrationStateRecordFields(NamedTuple):
    zk_migration_state: int = 0
    unknown_tagged_fields: TaggedFields = ()


@message
class ZkMigrationStateRecord(Message, _ZkMigrationStateRecordFields):
    """Metadata record, api key 21, versions 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 21
    TYPE_NAME: ClassVar[str] = "ZK_MIGRATION_STATE_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[ZkMigrationStateRecord, int]:
        zk_migration_state, at = read_int8(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return ZkMigrationStateRecord(zk_migration_state, unknown_tagged_fields), at

    def encode(self, out: bytearray, version: int) -> None:
        write_int8(out, self.zk_migration_state)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["zkMigrationState"] = self.zk_migration_state
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> ZkMigrationStateRecord:
        zk_migration_state = from_json(to_int8, data, "zkMigrationState")
        return ZkMigrationStateRecord(zk_migration_state)

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of ZkMigrationStateRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.records.message import Message
from metalog.records.primitives.fields import TaggedFields, read_tagged_fields, write_tagged_fields

_INT8: Final = struct.Struct(">b")


class _ZkMigrationStateRecordFields(NamedTuple):
    zk_migration_state: int = 0
    unknown_tagged_fields: TaggedFields = ()


class ZkMigrationStateRecord(Message, _ZkMigrationStateRecordFields):
    """Metadata record, api key 21, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 21
    TYPE_NAME: ClassVar[str] = "ZK_MIGRATION_STATE_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[ZkMigrationStateRecord, int]:
        (zk_migration_state,) = _INT8.unpack_from(data, at)
        at += 1
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(ZkMigrationStateRecord, (zk_migration_state, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        out += _INT8.pack(self.zk_migration_state)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        zk_migration_state, _ = self
        text = f'{{"zkMigrationState":{zk_migration_state}'
        return text + "}"

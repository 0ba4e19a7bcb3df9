# Generated from metalog/records/schema.py by metalog.records.codegen.generate.
# ruff: noqa: C901, PLR0915

"""The class of PartitionRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.ids import ZERO_UUID, Uuid, uuid_text
from metalog.records.message import Message
from metalog.records.primitives.fields import (
    INT32_ARRAYS,
    MANY,
    UUID_ARRAYS,
    TaggedFields,
    check_uuid,
    read_array,
    read_int32,
    read_nullable_array,
    read_tag,
    read_tag_count,
    read_uuid,
    refuse_field,
    refuse_tagged_field,
    write_array,
    write_int32s,
    write_nullable_int32s,
    write_tagged_fields,
    write_uuid,
)
from metalog.records.primitives.json_fields import json_int32s, json_uuids

_INT32_INT32_INT32: Final = struct.Struct(">iii")
_INT32_UUID: Final = struct.Struct(">i16s")
_INT8: Final = struct.Struct(">b")


class _PartitionRecordFields(NamedTuple):
    partition_id: int = -1
    topic_id: Uuid = ZERO_UUID
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    leader: int = -1
    leader_recovery_state: int = 0
    leader_epoch: int = -1
    partition_epoch: int = -1
    directories: tuple[Uuid, ...] = ()
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    unknown_tagged_fields: TaggedFields = ()


class PartitionRecord(Message, _PartitionRecordFields):
    """Metadata record, api key 3, versions 0-2."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 3
    TYPE_NAME: ClassVar[str] = "PARTITION_RECORD"
    VERSIONS: ClassVar[range] = range(3)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"topic_id", "directories"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[PartitionRecord, int]:
        limit = len(data)
        leader_recovery_state: int = 0
        directories: tuple[Uuid, ...] = ()
        eligible_leader_replicas: tuple[int, ...] | None = None
        last_known_elr: tuple[int, ...] | None = None
        partition_id, topic_id = _INT32_UUID.unpack_from(data, at)
        at += 20
        length = data[at]
        if 0 < length < MANY:
            replicas = INT32_ARRAYS[length].unpack_from(data, at + 1)
            at += 4 * length - 3
        else:
            replicas, at = read_array(read_int32, data, at)
        length = data[at]
        if 0 < length < MANY:
            isr = INT32_ARRAYS[length].unpack_from(data, at + 1)
            at += 4 * length - 3
        else:
            isr, at = read_array(read_int32, data, at)
        length = data[at]
        if 0 < length < MANY:
            removing_replicas = INT32_ARRAYS[length].unpack_from(data, at + 1)
            at += 4 * length - 3
        else:
            removing_replicas, at = read_array(read_int32, data, at)
        length = data[at]
        if 0 < length < MANY:
            adding_replicas = INT32_ARRAYS[length].unpack_from(data, at + 1)
            at += 4 * length - 3
        else:
            adding_replicas, at = read_array(read_int32, data, at)
        leader, leader_epoch, partition_epoch = _INT32_INT32_INT32.unpack_from(data, at)
        at += 12
        if version >= 1:
            length = data[at]
            if 0 < length < MANY:
                directories = UUID_ARRAYS[length].unpack_from(data, at + 1)
                at += 16 * length - 15
            else:
                directories, at = read_array(read_uuid, data, at)
        unknown: list[tuple[int, bytes]] = []
        tags = data[at]
        at += 1
        if tags >= 0x80:
            tags, at = read_tag_count(data, at - 1)
        for _ in range(tags):
            tag, size = data[at], data[at + 1]
            at += 2
            if tag >= 0x80 or size >= 0x80 or at + size > limit:
                tag, size, at = read_tag(data, at - 2)
            field_end = at + size
            if tag == 0:
                (leader_recovery_state,) = _INT8.unpack_from(data, at)
                at += 1
            elif tag == 1 and version >= 2:
                length = data[at]
                if 0 < length < MANY:
                    eligible_leader_replicas = INT32_ARRAYS[length].unpack_from(data, at + 1)
                    at += 4 * length - 3
                else:
                    eligible_leader_replicas, at = read_nullable_array(read_int32, data, at)
            elif tag == 2 and version >= 2:
                length = data[at]
                if 0 < length < MANY:
                    last_known_elr = INT32_ARRAYS[length].unpack_from(data, at + 1)
                    at += 4 * length - 3
                else:
                    last_known_elr, at = read_nullable_array(read_int32, data, at)
            else:
                unknown.append((tag, data[at:field_end]))
                at = field_end
            if at != field_end:
                refuse_tagged_field(tag, size, at - (field_end - size))
        return tuple.__new__(
            PartitionRecord,
            (
                partition_id,
                topic_id,
                replicas,
                isr,
                removing_replicas,
                adding_replicas,
                leader,
                leader_recovery_state,
                leader_epoch,
                partition_epoch,
                directories,
                eligible_leader_replicas,
                last_known_elr,
                tuple(unknown),
            ),
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        check_uuid(self.topic_id)
        out += _INT32_UUID.pack(self.partition_id, self.topic_id)
        write_int32s(out, self.replicas)
        write_int32s(out, self.isr)
        write_int32s(out, self.removing_replicas)
        write_int32s(out, self.adding_replicas)
        out += _INT32_INT32_INT32.pack(self.leader, self.leader_epoch, self.partition_epoch)
        if version >= 1:
            write_array(write_uuid, out, self.directories)
        elif self.directories != ():
            refuse_field("directories", version)
        tagged: list[tuple[int, bytes]] = []
        if self.leader_recovery_state != 0:
            tagged.append((0, _INT8.pack(self.leader_recovery_state)))
        if self.eligible_leader_replicas is not None:
            if version < 2:
                refuse_field("eligible_leader_replicas", version)
            field = bytearray()
            write_nullable_int32s(field, self.eligible_leader_replicas)
            tagged.append((1, bytes(field)))
        if self.last_known_elr is not None:
            if version < 2:
                refuse_field("last_known_elr", version)
            field = bytearray()
            write_nullable_int32s(field, self.last_known_elr)
            tagged.append((2, bytes(field)))
        write_tagged_fields(out, (*tagged, *self.unknown_tagged_fields))

    def json_text(self, version: int) -> str:
        (
            partition_id,
            topic_id,
            replicas,
            isr,
            removing_replicas,
            adding_replicas,
            leader,
            leader_recovery_state,
            leader_epoch,
            partition_epoch,
            directories,
            eligible_leader_replicas,
            last_known_elr,
            _,
        ) = self
        text = (
            f'{{"partitionId":{partition_id}'
            f',"topicId":"{uuid_text(topic_id)}"'
            f',"replicas":{json_int32s(replicas)}'
            f',"isr":{json_int32s(isr)}'
            f',"removingReplicas":{json_int32s(removing_replicas)}'
            f',"addingReplicas":{json_int32s(adding_replicas)}'
            f',"leader":{leader}'
        )
        if leader_recovery_state != 0:
            text += f',"leaderRecoveryState":{leader_recovery_state}'
        text += f',"leaderEpoch":{leader_epoch}'
        text += f',"partitionEpoch":{partition_epoch}'
        if version >= 1:
            text += f',"directories":{json_uuids(directories)}'
        if version >= 2 and eligible_leader_replicas is not None:
            text += f',"eligibleLeaderReplicas":{json_int32s(eligible_leader_replicas)}'
        if version >= 2 and last_known_elr is not None:
            text += f',"lastKnownElr":{json_int32s(last_known_elr)}'
        return text + "}"

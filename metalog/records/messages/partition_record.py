# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""PartitionRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.ids import ZERO_UUID, Uuid, uuid_text
from metalog.records.message import Message, message
from metalog.records.primitives.fields import (
    TaggedFields,
    check_tagged_field_end,
    read_array,
    read_int8,
    read_int32,
    read_nullable_array,
    read_tagged_fields,
    read_uuid,
    refuse_field,
    write_array,
    write_int8,
    write_int32,
    write_nullable_array,
    write_tagged_fields,
    write_uuid,
)
from metalog.records.primitives.json_fields import (
    JsonObject,
    from_json,
    from_json_array,
    from_json_nullable_array,
    to_int8,
    to_int32,
    to_uuid,
)


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


@message
class PartitionRecord(Message, _PartitionRecordFields):
    """Metadata record, api key 3, versions 0-2."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 3
    TYPE_NAME: ClassVar[str] = "PARTITION_RECORD"
    VERSIONS: ClassVar[range] = range(3)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"topic_id", "directories"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[PartitionRecord, int]:
        partition_id, at = read_int32(data, at)
        topic_id, at = read_uuid(data, at)
        replicas, at = read_array(read_int32, data, at)
        isr, at = read_array(read_int32, data, at)
        removing_replicas, at = read_array(read_int32, data, at)
        adding_replicas, at = read_array(read_int32, data, at)
        leader, at = read_int32(data, at)
        leader_recovery_state: int = 0
        leader_epoch, at = read_int32(data, at)
        partition_epoch, at = read_int32(data, at)
        directories: tuple[Uuid, ...] = ()
        if version >= 1:
            directories, at = read_array(read_uuid, data, at)
        eligible_leader_replicas: tuple[int, ...] | None = None
        last_known_elr: tuple[int, ...] | None = None
        tagged, at = read_tagged_fields(data, at)
        unknown: list[tuple[int, bytes]] = []
        for tag, field in tagged:
            if tag == 0:
                leader_recovery_state, end = read_int8(field, 0)
                check_tagged_field_end(tag, field, end)
            elif tag == 1 and version >= 2:
                eligible_leader_replicas, end = read_nullable_array(read_int32, field, 0)
                check_tagged_field_end(tag, field, end)
            elif tag == 2 and version >= 2:
                last_known_elr, end = read_nullable_array(read_int32, field, 0)
                check_tagged_field_end(tag, field, end)
            else:
                unknown.append((tag, field))
        return PartitionRecord(
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
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        write_int32(out, self.partition_id)
        write_uuid(out, self.topic_id)
        write_array(write_int32, out, self.replicas)
        write_array(write_int32, out, self.isr)
        write_array(write_int32, out, self.removing_replicas)
        write_array(write_int32, out, self.adding_replicas)
        write_int32(out, self.leader)
        write_int32(out, self.leader_epoch)
        write_int32(out, self.partition_epoch)
        if version >= 1:
            write_array(write_uuid, out, self.directories)
        elif self.directories != ():
            refuse_field("directories", version)
        tagged: list[tuple[int, bytes]] = []
        if self.leader_recovery_state != 0:
            field = bytearray()
            write_int8(field, self.leader_recovery_state)
            tagged.append((0, bytes(field)))
        if self.eligible_leader_replicas is not None:
            if version < 2:
                refuse_field("eligible_leader_replicas", version)
            field = bytearray()
            write_nullable_array(write_int32, field, self.eligible_leader_replicas)
            tagged.append((1, bytes(field)))
        if self.last_known_elr is not None:
            if version < 2:
                refuse_field("last_known_elr", version)
            field = bytearray()
            write_nullable_array(write_int32, field, self.last_known_elr)
            tagged.append((2, bytes(field)))
        write_tagged_fields(out, (*tagged, *self.unknown_tagged_fields))

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["partitionId"] = self.partition_id
        data["topicId"] = uuid_text(self.topic_id)
        data["replicas"] = list(self.replicas)
        data["isr"] = list(self.isr)
        data["removingReplicas"] = list(self.removing_replicas)
        data["addingReplicas"] = list(self.adding_replicas)
        data["leader"] = self.leader
        if self.leader_recovery_state != 0:
            data["leaderRecoveryState"] = self.leader_recovery_state
        data["leaderEpoch"] = self.leader_epoch
        data["partitionEpoch"] = self.partition_epoch
        if version >= 1:
            data["directories"] = [uuid_text(item) for item in self.directories]
        if version >= 2 and self.eligible_leader_replicas is not None:
            data["eligibleLeaderReplicas"] = (
                None
                if self.eligible_leader_replicas is None
                else list(self.eligible_leader_replicas)
            )
        if version >= 2 and self.last_known_elr is not None:
            data["lastKnownElr"] = (
                None if self.last_known_elr is None else list(self.last_known_elr)
            )
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> PartitionRecord:
        partition_id = from_json(to_int32, data, "partitionId")
        topic_id = from_json(to_uuid, data, "topicId")
        replicas = from_json_array(to_int32, data, "replicas")
        isr = from_json_array(to_int32, data, "isr")
        removing_replicas = from_json_array(to_int32, data, "removingReplicas")
        adding_replicas = from_json_array(to_int32, data, "addingReplicas")
        leader = from_json(to_int32, data, "leader")
        leader_recovery_state: int = 0
        if "leaderRecoveryState" in data:
            leader_recovery_state = from_json(to_int8, data, "leaderRecoveryState")
        leader_epoch = from_json(to_int32, data, "leaderEpoch")
        partition_epoch = from_json(to_int32, data, "partitionEpoch")
        directories: tuple[Uuid, ...] = ()
        if version >= 1:
            directories = from_json_array(to_uuid, data, "directories")
        eligible_leader_replicas: tuple[int, ...] | None = None
        if version >= 2 and "eligibleLeaderReplicas" in data:
            eligible_leader_replicas = from_json_nullable_array(
                to_int32, data, "eligibleLeaderReplicas"
            )
        last_known_elr: tuple[int, ...] | None = None
        if version >= 2 and "lastKnownElr" in data:
            last_known_elr = from_json_nullable_array(to_int32, data, "lastKnownElr")
        return PartitionRecord(
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
        )

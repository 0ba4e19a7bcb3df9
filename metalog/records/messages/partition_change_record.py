# Generated from metalog/records/schema.py by metalog.records.codegen.generate.
# ruff: noqa: C901

"""PartitionChangeRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.ids import ZERO_UUID, Uuid, uuid_text
from metalog.records.message import Message, message
from metalog.records.primitives.fields import (
    TaggedFields,
    check_tagged_field_end,
    read_int8,
    read_int32,
    read_nullable_array,
    read_tagged_fields,
    read_uuid,
    refuse_field,
    write_int8,
    write_int32,
    write_nullable_array,
    write_tagged_fields,
    write_uuid,
)
from metalog.records.primitives.json_fields import (
    JsonObject,
    from_json,
    from_json_nullable_array,
    to_int8,
    to_int32,
    to_uuid,
)


class _PartitionChangeRecordFields(NamedTuple):
    partition_id: int = -1
    topic_id: Uuid = ZERO_UUID
    isr: tuple[int, ...] | None = None
    leader: int = -2
    replicas: tuple[int, ...] | None = None
    removing_replicas: tuple[int, ...] | None = None
    adding_replicas: tuple[int, ...] | None = None
    leader_recovery_state: int = -1
    directories: tuple[Uuid, ...] | None = None
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    unknown_tagged_fields: TaggedFields = ()


@message
class PartitionChangeRecord(Message, _PartitionChangeRecordFields):
    """Metadata record, api key 5, versions 0-2."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 5
    TYPE_NAME: ClassVar[str] = "PARTITION_CHANGE_RECORD"
    VERSIONS: ClassVar[range] = range(3)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"topic_id", "directories"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[PartitionChangeRecord, int]:
        partition_id, at = read_int32(data, at)
        topic_id, at = read_uuid(data, at)
        isr: tuple[int, ...] | None = None
        leader: int = -2
        replicas: tuple[int, ...] | None = None
        removing_replicas: tuple[int, ...] | None = None
        adding_replicas: tuple[int, ...] | None = None
        leader_recovery_state: int = -1
        directories: tuple[Uuid, ...] | None = None
        eligible_leader_replicas: tuple[int, ...] | None = None
        last_known_elr: tuple[int, ...] | None = None
        tagged, at = read_tagged_fields(data, at)
        unknown: list[tuple[int, bytes]] = []
        for tag, field in tagged:
            if tag == 0:
                isr, end = read_nullable_array(read_int32, field, 0)
                check_tagged_field_end(tag, field, end)
            elif tag == 1:
                leader, end = read_int32(field, 0)
                check_tagged_field_end(tag, field, end)
            elif tag == 2:
                replicas, end = read_nullable_array(read_int32, field, 0)
                check_tagged_field_end(tag, field, end)
            elif tag == 3:
                removing_replicas, end = read_nullable_array(read_int32, field, 0)
                check_tagged_field_end(tag, field, end)
            elif tag == 4:
                adding_replicas, end = read_nullable_array(read_int32, field, 0)
                check_tagged_field_end(tag, field, end)
            elif tag == 5:
                leader_recovery_state, end = read_int8(field, 0)
                check_tagged_field_end(tag, field, end)
            elif tag == 8 and version >= 1:
                directories, end = read_nullable_array(read_uuid, field, 0)
                check_tagged_field_end(tag, field, end)
            elif tag == 6 and version >= 2:
                eligible_leader_replicas, end = read_nullable_array(read_int32, field, 0)
                check_tagged_field_end(tag, field, end)
            elif tag == 7 and version >= 2:
                last_known_elr, end = read_nullable_array(read_int32, field, 0)
                check_tagged_field_end(tag, field, end)
            else:
                unknown.append((tag, field))
        return PartitionChangeRecord(
            partition_id,
            topic_id,
            isr,
            leader,
            replicas,
            removing_replicas,
            adding_replicas,
            leader_recovery_state,
            directories,
            eligible_leader_replicas,
            last_known_elr,
            tuple(unknown),
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        write_int32(out, self.partition_id)
        write_uuid(out, self.topic_id)
        tagged: list[tuple[int, bytes]] = []
        if self.isr is not None:
            field = bytearray()
            write_nullable_array(write_int32, field, self.isr)
            tagged.append((0, bytes(field)))
        if self.leader != -2:
            field = bytearray()
            write_int32(field, self.leader)
            tagged.append((1, bytes(field)))
        if self.replicas is not None:
            field = bytearray()
            write_nullable_array(write_int32, field, self.replicas)
            tagged.append((2, bytes(field)))
        if self.removing_replicas is not None:
            field = bytearray()
            write_nullable_array(write_int32, field, self.removing_replicas)
            tagged.append((3, bytes(field)))
        if self.adding_replicas is not None:
            field = bytearray()
            write_nullable_array(write_int32, field, self.adding_replicas)
            tagged.append((4, bytes(field)))
        if self.leader_recovery_state != -1:
            field = bytearray()
            write_int8(field, self.leader_recovery_state)
            tagged.append((5, bytes(field)))
        if self.directories is not None:
            if version < 1:
                refuse_field("directories", version)
            field = bytearray()
            write_nullable_array(write_uuid, field, self.directories)
            tagged.append((8, bytes(field)))
        if self.eligible_leader_replicas is not None:
            if version < 2:
                refuse_field("eligible_leader_replicas", version)
            field = bytearray()
            write_nullable_array(write_int32, field, self.eligible_leader_replicas)
            tagged.append((6, bytes(field)))
        if self.last_known_elr is not None:
            if version < 2:
                refuse_field("last_known_elr", version)
            field = bytearray()
            write_nullable_array(write_int32, field, self.last_known_elr)
            tagged.append((7, bytes(field)))
        write_tagged_fields(out, (*tagged, *self.unknown_tagged_fields))

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["partitionId"] = self.partition_id
        data["topicId"] = uuid_text(self.topic_id)
        if self.isr is not None:
            data["isr"] = None if self.isr is None else list(self.isr)
        if self.leader != -2:
            data["leader"] = self.leader
        if self.replicas is not None:
            data["replicas"] = None if self.replicas is None else list(self.replicas)
        if self.removing_replicas is not None:
            data["removingReplicas"] = (
                None if self.removing_replicas is None else list(self.removing_replicas)
            )
        if self.adding_replicas is not None:
            data["addingReplicas"] = (
                None if self.adding_replicas is None else list(self.adding_replicas)
            )
        if self.leader_recovery_state != -1:
            data["leaderRecoveryState"] = self.leader_recovery_state
        if version >= 1 and self.directories is not None:
            data["directories"] = (
                None if self.directories is None else [uuid_text(item) for item in self.directories]
            )
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
    def from_json(data: JsonObject, version: int) -> PartitionChangeRecord:
        partition_id = from_json(to_int32, data, "partitionId")
        topic_id = from_json(to_uuid, data, "topicId")
        isr: tuple[int, ...] | None = None
        if "isr" in data:
            isr = from_json_nullable_array(to_int32, data, "isr")
        leader: int = -2
        if "leader" in data:
            leader = from_json(to_int32, data, "leader")
        replicas: tuple[int, ...] | None = None
        if "replicas" in data:
            replicas = from_json_nullable_array(to_int32, data, "replicas")
        removing_replicas: tuple[int, ...] | None = None
        if "removingReplicas" in data:
            removing_replicas = from_json_nullable_array(to_int32, data, "removingReplicas")
        adding_replicas: tuple[int, ...] | None = None
        if "addingReplicas" in data:
            adding_replicas = from_json_nullable_array(to_int32, data, "addingReplicas")
        leader_recovery_state: int = -1
        if "leaderRecoveryState" in data:
            leader_recovery_state = from_json(to_int8, data, "leaderRecoveryState")
        directories: tuple[Uuid, ...] | None = None
        if version >= 1 and "directories" in data:
            directories = from_json_nullable_array(to_uuid, data, "directories")
        eligible_leader_replicas: tuple[int, ...] | None = None
        if version >= 2 and "eligibleLeaderReplicas" in data:
            eligible_leader_replicas = from_json_nullable_array(
                to_int32, data, "eligibleLeaderReplicas"
            )
        last_known_elr: tuple[int, ...] | None = None
        if version >= 2 and "lastKnownElr" in data:
            last_known_elr = from_json_nullable_array(to_int32, data, "lastKnownElr")
        return PartitionChangeRecord(
            partition_id,
            topic_id,
            isr,
            leader,
            replicas,
            removing_replicas,
            adding_replicas,
            leader_recovery_state,
            directories,
            eligible_leader_replicas,
            last_known_elr,
        )

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""BrokerRegistrationChangeRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.ids import Uuid, uuid_text
from metalog.records.message import Message, message
from metalog.records.primitives.fields import (
    TaggedFields,
    check_tagged_field_end,
    read_array,
    read_int8,
    read_int32,
    read_int64,
    read_nullable_array,
    read_tagged_fields,
    read_uuid,
    refuse_field,
    write_array,
    write_int8,
    write_int32,
    write_int64,
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
    to_int64,
    to_uuid,
)


class _BrokerRegistrationChangeRecordFields(NamedTuple):
    broker_id: int = 0
    broker_epoch: int = 0
    fenced: int = 0
    in_controlled_shutdown: int = 0
    log_dirs: tuple[Uuid, ...] = ()
    cordoned_log_dirs: tuple[Uuid, ...] | None = None
    unknown_tagged_fields: TaggedFields = ()


@message
class BrokerRegistrationChangeRecord(Message, _BrokerRegistrationChangeRecordFields):
    """Metadata record, api key 17, versions 0-3."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 17
    TYPE_NAME: ClassVar[str] = "BROKER_REGISTRATION_CHANGE_RECORD"
    VERSIONS: ClassVar[range] = range(4)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"log_dirs", "cordoned_log_dirs"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[BrokerRegistrationChangeRecord, int]:
        broker_id, at = read_int32(data, at)
        broker_epoch, at = read_int64(data, at)
        fenced: int = 0
        in_controlled_shutdown: int = 0
        log_dirs: tuple[Uuid, ...] = ()
        cordoned_log_dirs: tuple[Uuid, ...] | None = None
        tagged, at = read_tagged_fields(data, at)
        unknown: list[tuple[int, bytes]] = []
        for tag, field in tagged:
            if tag == 0:
                fenced, end = read_int8(field, 0)
                check_tagged_field_end(tag, field, end)
            elif tag == 1 and version >= 1:
                in_controlled_shutdown, end = read_int8(field, 0)
                check_tagged_field_end(tag, field, end)
            elif tag == 2 and version >= 2:
                log_dirs, end = read_array(read_uuid, field, 0)
                check_tagged_field_end(tag, field, end)
            elif tag == 3 and version >= 3:
                cordoned_log_dirs, end = read_nullable_array(read_uuid, field, 0)
                check_tagged_field_end(tag, field, end)
            else:
                unknown.append((tag, field))
        return BrokerRegistrationChangeRecord(
            broker_id,
            broker_epoch,
            fenced,
            in_controlled_shutdown,
            log_dirs,
            cordoned_log_dirs,
            tuple(unknown),
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        write_int32(out, self.broker_id)
        write_int64(out, self.broker_epoch)
        tagged: list[tuple[int, bytes]] = []
        if self.fenced != 0:
            field = bytearray()
            write_int8(field, self.fenced)
            tagged.append((0, bytes(field)))
        if self.in_controlled_shutdown != 0:
            if version < 1:
                refuse_field("in_controlled_shutdown", version)
            field = bytearray()
            write_int8(field, self.in_controlled_shutdown)
            tagged.append((1, bytes(field)))
        if self.log_dirs != ():
            if version < 2:
                refuse_field("log_dirs", version)
            field = bytearray()
            write_array(write_uuid, field, self.log_dirs)
            tagged.append((2, bytes(field)))
        if self.cordoned_log_dirs is not None:
            if version < 3:
                refuse_field("cordoned_log_dirs", version)
            field = bytearray()
            write_nullable_array(write_uuid, field, self.cordoned_log_dirs)
            tagged.append((3, bytes(field)))
        write_tagged_fields(out, (*tagged, *self.unknown_tagged_fields))

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["brokerId"] = self.broker_id
        data["brokerEpoch"] = self.broker_epoch
        if self.fenced != 0:
            data["fenced"] = self.fenced
        if version >= 1 and self.in_controlled_shutdown != 0:
            data["inControlledShutdown"] = self.in_controlled_shutdown
        if version >= 2 and self.log_dirs != ():
            data["logDirs"] = [uuid_text(item) for item in self.log_dirs]
        if version >= 3 and self.cordoned_log_dirs is not None:
            data["cordonedLogDirs"] = (
                None
                if self.cordoned_log_dirs is None
                else [uuid_text(item) for item in self.cordoned_log_dirs]
            )
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> BrokerRegistrationChangeRecord:
        broker_id = from_json(to_int32, data, "brokerId")
        broker_epoch = from_json(to_int64, data, "brokerEpoch")
        fenced: int = 0
        if "fenced" in data:
            fenced = from_json(to_int8, data, "fenced")
        in_controlled_shutdown: int = 0
        if version >= 1 and "inControlledShutdown" in data:
            in_controlled_shutdown = from_json(to_int8, data, "inControlledShutdown")
        log_dirs: tuple[Uuid, ...] = ()
        if version >= 2 and "logDirs" in data:
            log_dirs = from_json_array(to_uuid, data, "logDirs")
        cordoned_log_dirs: tuple[Uuid, ...] | None = None
        if version >= 3 and "cordonedLogDirs" in data:
            cordoned_log_dirs = from_json_nullable_array(to_uuid, data, "cordonedLogDirs")
        return BrokerRegistrationChangeRecord(
            broker_id, broker_epoch, fenced, in_controlled_shutdown, log_dirs, cordoned_log_dirs
        )

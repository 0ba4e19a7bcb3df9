# Generated from metalog/records/schema.py by metalog.records.codegen.generate.
# ruff: noqa: C901

"""The class of BrokerRegistrationChangeRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.ids import Uuid
from metalog.records.message import Message
from metalog.records.primitives.fields import (
    MANY,
    UUID_ARRAYS,
    TaggedFields,
    read_array,
    read_nullable_array,
    read_tag,
    read_tag_count,
    read_uuid,
    refuse_field,
    refuse_tagged_field,
    write_array,
    write_nullable_array,
    write_tagged_fields,
    write_uuid,
)
from metalog.records.primitives.json_fields import json_uuids

_INT32_INT64: Final = struct.Struct(">iq")
_INT8: Final = struct.Struct(">b")


class _BrokerRegistrationChangeRecordFields(NamedTuple):
    broker_id: int = 0
    broker_epoch: int = 0
    fenced: int = 0
    in_controlled_shutdown: int = 0
    log_dirs: tuple[Uuid, ...] = ()
    cordoned_log_dirs: tuple[Uuid, ...] | None = None
    unknown_tagged_fields: TaggedFields = ()


class BrokerRegistrationChangeRecord(Message, _BrokerRegistrationChangeRecordFields):
    """Metadata record, api key 17, versions 0-3."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 17
    TYPE_NAME: ClassVar[str] = "BROKER_REGISTRATION_CHANGE_RECORD"
    VERSIONS: ClassVar[range] = range(4)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"log_dirs", "cordoned_log_dirs"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[BrokerRegistrationChangeRecord, int]:
        limit = len(data)
        fenced: int = 0
        in_controlled_shutdown: int = 0
        log_dirs: tuple[Uuid, ...] = ()
        cordoned_log_dirs: tuple[Uuid, ...] | None = None
        broker_id, broker_epoch = _INT32_INT64.unpack_from(data, at)
        at += 12
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
                (fenced,) = _INT8.unpack_from(data, at)
                at += 1
            elif tag == 1 and version >= 1:
                (in_controlled_shutdown,) = _INT8.unpack_from(data, at)
                at += 1
            elif tag == 2 and version >= 2:
                length = data[at]
                if 0 < length < MANY:
                    log_dirs = UUID_ARRAYS[length].unpack_from(data, at + 1)
                    at += 16 * length - 15
                else:
                    log_dirs, at = read_array(read_uuid, data, at)
            elif tag == 3 and version >= 3:
                length = data[at]
                if 0 < length < MANY:
                    cordoned_log_dirs = UUID_ARRAYS[length].unpack_from(data, at + 1)
                    at += 16 * length - 15
                else:
                    cordoned_log_dirs, at = read_nullable_array(read_uuid, data, at)
            else:
                unknown.append((tag, data[at:field_end]))
                at = field_end
            if at != field_end:
                refuse_tagged_field(tag, size, at - (field_end - size))
        return tuple.__new__(
            BrokerRegistrationChangeRecord,
            (
                broker_id,
                broker_epoch,
                fenced,
                in_controlled_shutdown,
                log_dirs,
                cordoned_log_dirs,
                tuple(unknown),
            ),
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        out += _INT32_INT64.pack(self.broker_id, self.broker_epoch)
        tagged: list[tuple[int, bytes]] = []
        if self.fenced != 0:
            tagged.append((0, _INT8.pack(self.fenced)))
        if self.in_controlled_shutdown != 0:
            if version < 1:
                refuse_field("in_controlled_shutdown", version)
            tagged.append((1, _INT8.pack(self.in_controlled_shutdown)))
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

    def json_text(self, version: int) -> str:
        broker_id, broker_epoch, fenced, in_controlled_shutdown, log_dirs, cordoned_log_dirs, _ = (
            self
        )
        text = f'{{"brokerId":{broker_id},"brokerEpoch":{broker_epoch}'
        if fenced != 0:
            text += f',"fenced":{fenced}'
        if version >= 1 and in_controlled_shutdown != 0:
            text += f',"inControlledShutdown":{in_controlled_shutdown}'
        if version >= 2 and log_dirs != ():
            text += f',"logDirs":{json_uuids(log_dirs)}'
        if version >= 3 and cordoned_log_dirs is not None:
            text += f',"cordonedLogDirs":{json_uuids(cordoned_log_dirs)}'
        return text + "}"

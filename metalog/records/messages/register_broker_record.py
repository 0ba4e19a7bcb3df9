# Generated from metalog/records/schema.py by metalog.records.codegen.generate.
# ruff: noqa: C901, PLR0915

"""The class of RegisterBrokerRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.ids import ZERO_UUID, Uuid, uuid_text
from metalog.records.message import Message, Struct
from metalog.records.primitives.fields import (
    MANY,
    UUID_ARRAYS,
    TaggedFields,
    check_uuid,
    read_array,
    read_nullable_array,
    read_nullable_string,
    read_string,
    read_structs,
    read_tag,
    read_tag_count,
    read_tagged_fields,
    read_uuid,
    refuse_field,
    refuse_tagged_field,
    write_array,
    write_nullable_array,
    write_nullable_string,
    write_string,
    write_structs,
    write_tagged_fields,
    write_uuid,
)
from metalog.records.primitives.json_fields import json_bool, json_string, json_structs, json_uuids
from metalog.records.primitives.text import decode_text

_BOOL: Final = struct.Struct(">?")
_INT16_INT16: Final = struct.Struct(">hh")
_INT32: Final = struct.Struct(">i")
_UINT16_INT16: Final = struct.Struct(">Hh")
_UUID_INT64: Final = struct.Struct(">16sq")


class _BrokerEndpointFields(NamedTuple):
    name: str = ""
    host: str = ""
    port: int = 0
    security_protocol: int = 0
    unknown_tagged_fields: TaggedFields = ()


class BrokerEndpoint(Struct, _BrokerEndpointFields):
    __slots__ = ()

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[BrokerEndpoint, int]:
        limit = len(data)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            name = decode_text(data[at + 1 : end])
            at = end
        else:
            name, at = read_string(data, at)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            host = decode_text(data[at + 1 : end])
            at = end
        else:
            host, at = read_string(data, at)
        port, security_protocol = _UINT16_INT16.unpack_from(data, at)
        at += 4
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(BrokerEndpoint, (name, host, port, security_protocol, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.name)
        write_string(out, self.host)
        out += _UINT16_INT16.pack(self.port, self.security_protocol)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        name, host, port, security_protocol, _ = self
        text = (
            f'{{"name":{json_string(name)}'
            f',"host":{json_string(host)}'
            f',"port":{port}'
            f',"securityProtocol":{security_protocol}'
        )
        return text + "}"


class _BrokerFeatureFields(NamedTuple):
    name: str = ""
    min_supported_version: int = 0
    max_supported_version: int = 0
    unknown_tagged_fields: TaggedFields = ()


class BrokerFeature(Struct, _BrokerFeatureFields):
    __slots__ = ()

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[BrokerFeature, int]:
        limit = len(data)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            name = decode_text(data[at + 1 : end])
            at = end
        else:
            name, at = read_string(data, at)
        min_supported_version, max_supported_version = _INT16_INT16.unpack_from(data, at)
        at += 4
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(
            BrokerFeature, (name, min_supported_version, max_supported_version, unknown)
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.name)
        out += _INT16_INT16.pack(self.min_supported_version, self.max_supported_version)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        name, min_supported_version, max_supported_version, _ = self
        text = (
            f'{{"name":{json_string(name)}'
            f',"minSupportedVersion":{min_supported_version}'
            f',"maxSupportedVersion":{max_supported_version}'
        )
        return text + "}"


class _RegisterBrokerRecordFields(NamedTuple):
    broker_id: int = 0
    is_migrating_zk_broker: bool = False
    incarnation_id: Uuid = ZERO_UUID
    broker_epoch: int = 0
    end_points: tuple[BrokerEndpoint, ...] = ()
    features: tuple[BrokerFeature, ...] = ()
    rack: str | None = ""
    fenced: bool = True
    in_controlled_shutdown: bool = False
    log_dirs: tuple[Uuid, ...] = ()
    cordoned_log_dirs: tuple[Uuid, ...] | None = None
    unknown_tagged_fields: TaggedFields = ()


class RegisterBrokerRecord(Message, _RegisterBrokerRecordFields):
    """Metadata record, api key 0, versions 0-4."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 0
    TYPE_NAME: ClassVar[str] = "REGISTER_BROKER_RECORD"
    VERSIONS: ClassVar[range] = range(5)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"incarnation_id", "log_dirs", "cordoned_log_dirs"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[RegisterBrokerRecord, int]:
        limit = len(data)
        is_migrating_zk_broker: bool = False
        in_controlled_shutdown: bool = False
        log_dirs: tuple[Uuid, ...] = ()
        cordoned_log_dirs: tuple[Uuid, ...] | None = None
        (broker_id,) = _INT32.unpack_from(data, at)
        at += 4
        if version >= 2:
            (is_migrating_zk_broker,) = _BOOL.unpack_from(data, at)
            at += 1
        incarnation_id, broker_epoch = _UUID_INT64.unpack_from(data, at)
        at += 24
        end_points, at = read_structs(BrokerEndpoint.decode, data, at, version)
        features, at = read_structs(BrokerFeature.decode, data, at, version)
        length = data[at]
        end = at + length
        if 0 < length < 0x80 and end <= limit:
            rack: str | None = decode_text(data[at + 1 : end])
            at = end
        else:
            rack, at = read_nullable_string(data, at)
        (fenced,) = _BOOL.unpack_from(data, at)
        at += 1
        if version >= 1:
            (in_controlled_shutdown,) = _BOOL.unpack_from(data, at)
            at += 1
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
            if tag == 0 and version >= 3:
                length = data[at]
                if 0 < length < MANY:
                    log_dirs = UUID_ARRAYS[length].unpack_from(data, at + 1)
                    at += 16 * length - 15
                else:
                    log_dirs, at = read_array(read_uuid, data, at)
            elif tag == 1 and version >= 4:
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
            RegisterBrokerRecord,
            (
                broker_id,
                is_migrating_zk_broker,
                incarnation_id,
                broker_epoch,
                end_points,
                features,
                rack,
                fenced,
                in_controlled_shutdown,
                log_dirs,
                cordoned_log_dirs,
                tuple(unknown),
            ),
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        out += _INT32.pack(self.broker_id)
        if version >= 2:
            out += _BOOL.pack(self.is_migrating_zk_broker)
        elif self.is_migrating_zk_broker:
            refuse_field("is_migrating_zk_broker", version)
        check_uuid(self.incarnation_id)
        out += _UUID_INT64.pack(self.incarnation_id, self.broker_epoch)
        write_structs(out, self.end_points, version)
        write_structs(out, self.features, version)
        write_nullable_string(out, self.rack)
        out += _BOOL.pack(self.fenced)
        if version >= 1:
            out += _BOOL.pack(self.in_controlled_shutdown)
        elif self.in_controlled_shutdown:
            refuse_field("in_controlled_shutdown", version)
        tagged: list[tuple[int, bytes]] = []
        if self.log_dirs != ():
            if version < 3:
                refuse_field("log_dirs", version)
            field = bytearray()
            write_array(write_uuid, field, self.log_dirs)
            tagged.append((0, bytes(field)))
        if self.cordoned_log_dirs is not None:
            if version < 4:
                refuse_field("cordoned_log_dirs", version)
            field = bytearray()
            write_nullable_array(write_uuid, field, self.cordoned_log_dirs)
            tagged.append((1, bytes(field)))
        write_tagged_fields(out, (*tagged, *self.unknown_tagged_fields))

    def json_text(self, version: int) -> str:
        (
            broker_id,
            is_migrating_zk_broker,
            incarnation_id,
            broker_epoch,
            end_points,
            features,
            rack,
            fenced,
            in_controlled_shutdown,
            log_dirs,
            cordoned_log_dirs,
            _,
        ) = self
        text = f'{{"brokerId":{broker_id}'
        if version >= 2:
            text += f',"isMigratingZkBroker":{json_bool(is_migrating_zk_broker)}'
        text += f',"incarnationId":"{uuid_text(incarnation_id)}"'
        text += f',"brokerEpoch":{broker_epoch}'
        text += f',"endPoints":{json_structs(end_points, version)}'
        text += f',"features":{json_structs(features, version)}'
        text += f',"rack":{json_string(rack)}'
        text += f',"fenced":{json_bool(fenced)}'
        if version >= 1:
            text += f',"inControlledShutdown":{json_bool(in_controlled_shutdown)}'
        if version >= 3 and log_dirs != ():
            text += f',"logDirs":{json_uuids(log_dirs)}'
        if version >= 4 and cordoned_log_dirs is not None:
            text += f',"cordonedLogDirs":{json_uuids(cordoned_log_dirs)}'
        return text + "}"

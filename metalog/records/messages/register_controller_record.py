# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of RegisterControllerRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.ids import ZERO_UUID, Uuid, uuid_text
from metalog.records.message import Message, Struct
from metalog.records.primitives.fields import (
    TaggedFields,
    check_uuid,
    read_string,
    read_structs,
    read_tagged_fields,
    write_string,
    write_structs,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import json_bool, json_string, json_structs
from metalog.records.primitives.text import decode_text

_INT16_INT16: Final = struct.Struct(">hh")
_INT32_UUID_BOOL: Final = struct.Struct(">i16s?")
_UINT16_INT16: Final = struct.Struct(">Hh")


class _ControllerEndpointFields(NamedTuple):
    name: str = ""
    host: str = ""
    port: int = 0
    security_protocol: int = 0
    unknown_tagged_fields: TaggedFields = ()


class ControllerEndpoint(Struct, _ControllerEndpointFields):
    __slots__ = ()

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[ControllerEndpoint, int]:
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
        return tuple.__new__(ControllerEndpoint, (name, host, port, security_protocol, unknown)), at

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


class _ControllerFeatureFields(NamedTuple):
    name: str = ""
    min_supported_version: int = 0
    max_supported_version: int = 0
    unknown_tagged_fields: TaggedFields = ()


class ControllerFeature(Struct, _ControllerFeatureFields):
    __slots__ = ()

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[ControllerFeature, int]:
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
            ControllerFeature, (name, min_supported_version, max_supported_version, unknown)
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


class _RegisterControllerRecordFields(NamedTuple):
    controller_id: int = 0
    incarnation_id: Uuid = ZERO_UUID
    zk_migration_ready: bool = False
    end_points: tuple[ControllerEndpoint, ...] = ()
    features: tuple[ControllerFeature, ...] = ()
    unknown_tagged_fields: TaggedFields = ()


class RegisterControllerRecord(Message, _RegisterControllerRecordFields):
    """Metadata record, api key 27, version 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 27
    TYPE_NAME: ClassVar[str] = "REGISTER_CONTROLLER_RECORD"
    VERSIONS: ClassVar[range] = range(1)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"incarnation_id"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[RegisterControllerRecord, int]:
        controller_id, incarnation_id, zk_migration_ready = _INT32_UUID_BOOL.unpack_from(data, at)
        at += 21
        end_points, at = read_structs(ControllerEndpoint.decode, data, at, version)
        features, at = read_structs(ControllerFeature.decode, data, at, version)
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(
            RegisterControllerRecord,
            (controller_id, incarnation_id, zk_migration_ready, end_points, features, unknown),
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        check_uuid(self.incarnation_id)
        out += _INT32_UUID_BOOL.pack(
            self.controller_id, self.incarnation_id, self.zk_migration_ready
        )
        write_structs(out, self.end_points, version)
        write_structs(out, self.features, version)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        controller_id, incarnation_id, zk_migration_ready, end_points, features, _ = self
        text = (
            f'{{"controllerId":{controller_id}'
            f',"incarnationId":"{uuid_text(incarnation_id)}"'
            f',"zkMigrationReady":{json_bool(zk_migration_ready)}'
            f',"endPoints":{json_structs(end_points, version)}'
            f',"features":{json_structs(features, version)}'
        )
        return text + "}"

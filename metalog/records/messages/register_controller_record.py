# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""RegisterControllerRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.ids import ZERO_UUID, Uuid, uuid_text
from metalog.records.message import Message, Struct, message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_bool,
    read_int16,
    read_int32,
    read_string,
    read_structs,
    read_tagged_fields,
    read_uint16,
    read_uuid,
    write_bool,
    write_int16,
    write_int32,
    write_string,
    write_structs,
    write_tagged_fields,
    write_uint16,
    write_uuid,
)
from metalog.records.primitives.json_fields import (
    JsonObject,
    from_json,
    from_json_structs,
    to_bool,
    to_int16,
    to_int32,
    to_string,
    to_uint16,
    to_uuid,
)


class _ControllerEndpointFields(NamedTuple):
    name: str = ""
    host: str = ""
    port: int = 0
    security_protocol: int = 0
    unknown_tagged_fields: TaggedFields = ()


@message
class ControllerEndpoint(Struct, _ControllerEndpointFields):
    __slots__ = ()

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[ControllerEndpoint, int]:
        name, at = read_string(data, at)
        host, at = read_string(data, at)
        port, at = read_uint16(data, at)
        security_protocol, at = read_int16(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return ControllerEndpoint(name, host, port, security_protocol, unknown_tagged_fields), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.name)
        write_string(out, self.host)
        write_uint16(out, self.port)
        write_int16(out, self.security_protocol)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["name"] = self.name
        data["host"] = self.host
        data["port"] = self.port
        data["securityProtocol"] = self.security_protocol
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> ControllerEndpoint:
        name = from_json(to_string, data, "name")
        host = from_json(to_string, data, "host")
        port = from_json(to_uint16, data, "port")
        security_protocol = from_json(to_int16, data, "securityProtocol")
        return ControllerEndpoint(name, host, port, security_protocol)


class _ControllerFeatureFields(NamedTuple):
    name: str = ""
    min_supported_version: int = 0
    max_supported_version: int = 0
    unknown_tagged_fields: TaggedFields = ()


@message
class ControllerFeature(Struct, _ControllerFeatureFields):
    __slots__ = ()

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[ControllerFeature, int]:
        name, at = read_string(data, at)
        min_supported_version, at = read_int16(data, at)
        max_supported_version, at = read_int16(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return ControllerFeature(
            name, min_supported_version, max_supported_version, unknown_tagged_fields
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.name)
        write_int16(out, self.min_supported_version)
        write_int16(out, self.max_supported_version)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["name"] = self.name
        data["minSupportedVersion"] = self.min_supported_version
        data["maxSupportedVersion"] = self.max_supported_version
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> ControllerFeature:
        name = from_json(to_string, data, "name")
        min_supported_version = from_json(to_int16, data, "minSupportedVersion")
        max_supported_version = from_json(to_int16, data, "maxSupportedVersion")
        return ControllerFeature(name, min_supported_version, max_supported_version)


class _RegisterControllerRecordFields(NamedTuple):
    controller_id: int = 0
    incarnation_id: Uuid = ZERO_UUID
    zk_migration_ready: bool = False
    end_points: tuple[ControllerEndpoint, ...] = ()
    features: tuple[ControllerFeature, ...] = ()
    unknown_tagged_fields: TaggedFields = ()


@message
class RegisterControllerRecord(Message, _RegisterControllerRecordFields):
    """Metadata record, api key 27, versions 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 27
    TYPE_NAME: ClassVar[str] = "REGISTER_CONTROLLER_RECORD"
    VERSIONS: ClassVar[range] = range(1)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"incarnation_id"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[RegisterControllerRecord, int]:
        controller_id, at = read_int32(data, at)
        incarnation_id, at = read_uuid(data, at)
        zk_migration_ready, at = read_bool(data, at)
        end_points, at = read_structs(ControllerEndpoint.decode, data, at, version)
        features, at = read_structs(ControllerFeature.decode, data, at, version)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return RegisterControllerRecord(
            controller_id,
            incarnation_id,
            zk_migration_ready,
            end_points,
            features,
            unknown_tagged_fields,
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        write_int32(out, self.controller_id)
        write_uuid(out, self.incarnation_id)
        write_bool(out, self.zk_migration_ready)
        write_structs(out, self.end_points, version)
        write_structs(out, self.features, version)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["controllerId"] = self.controller_id
        data["incarnationId"] = uuid_text(self.incarnation_id)
        data["zkMigrationReady"] = self.zk_migration_ready
        data["endPoints"] = [item.to_json(version) for item in self.end_points]
        data["features"] = [item.to_json(version) for item in self.features]
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> RegisterControllerRecord:
        controller_id = from_json(to_int32, data, "controllerId")
        incarnation_id = from_json(to_uuid, data, "incarnationId")
        zk_migration_ready = from_json(to_bool, data, "zkMigrationReady")
        end_points = from_json_structs(ControllerEndpoint.from_json, data, "endPoints", version)
        features = from_json_structs(ControllerFeature.from_json, data, "features", version)
        return RegisterControllerRecord(
            controller_id, incarnation_id, zk_migration_ready, end_points, features
        )

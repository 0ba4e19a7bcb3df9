# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""RegisterBrokerRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.ids import ZERO_UUID, Uuid, uuid_text
from metalog.records.message import Message, Struct, message
from metalog.records.primitives.fields import (
    TaggedFields,
    check_tagged_field_end,
    read_array,
    read_bool,
    read_int16,
    read_int32,
    read_int64,
    read_nullable_array,
    read_nullable_string,
    read_string,
    read_structs,
    read_tagged_fields,
    read_uint16,
    read_uuid,
    refuse_field,
    write_array,
    write_bool,
    write_int16,
    write_int32,
    write_int64,
    write_nullable_array,
    write_nullable_string,
    write_string,
    write_structs,
    write_tagged_fields,
    write_uint16,
    write_uuid,
)
from metalog.records.primitives.json_fields import (
    JsonObject,
    from_json,
    from_json_array,
    from_json_nullable,
    from_json_nullable_array,
    from_json_structs,
    to_bool,
    to_int16,
    to_int32,
    to_int64,
    to_string,
    to_uint16,
    to_uuid,
)


class _BrokerEndpointFields(NamedTuple):
    name: str = ""
    host: str = ""
    port: int = 0
    security_protocol: int = 0
    unknown_tagged_fields: TaggedFields = ()


@message
class BrokerEndpoint(Struct, _BrokerEndpointFields):
    __slots__ = ()

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[BrokerEndpoint, int]:
        name, at = read_string(data, at)
        host, at = read_string(data, at)
        port, at = read_uint16(data, at)
        security_protocol, at = read_int16(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return BrokerEndpoint(name, host, port, security_protocol, unknown_tagged_fields), at

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
    def from_json(data: JsonObject, version: int) -> BrokerEndpoint:
        name = from_json(to_string, data, "name")
        host = from_json(to_string, data, "host")
        port = from_json(to_uint16, data, "port")
        security_protocol = from_json(to_int16, data, "securityProtocol")
        return BrokerEndpoint(name, host, port, security_protocol)


class _BrokerFeatureFields(NamedTuple):
    name: str = ""
    min_supported_version: int = 0
    max_supported_version: int = 0
    unknown_tagged_fields: TaggedFields = ()


@message
class BrokerFeature(Struct, _BrokerFeatureFields):
    __slots__ = ()

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[BrokerFeature, int]:
        name, at = read_string(data, at)
        min_supported_version, at = read_int16(data, at)
        max_supported_version, at = read_int16(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return BrokerFeature(
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
    def from_json(data: JsonObject, version: int) -> BrokerFeature:
        name = from_json(to_string, data, "name")
        min_supported_version = from_json(to_int16, data, "minSupportedVersion")
        max_supported_version = from_json(to_int16, data, "maxSupportedVersion")
        return BrokerFeature(name, min_supported_version, max_supported_version)


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


@message
class RegisterBrokerRecord(Message, _RegisterBrokerRecordFields):
    """Metadata record, api key 0, versions 0-4."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 0
    TYPE_NAME: ClassVar[str] = "REGISTER_BROKER_RECORD"
    VERSIONS: ClassVar[range] = range(5)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"incarnation_id", "log_dirs", "cordoned_log_dirs"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[RegisterBrokerRecord, int]:
        broker_id, at = read_int32(data, at)
        is_migrating_zk_broker: bool = False
        if version >= 2:
            is_migrating_zk_broker, at = read_bool(data, at)
        incarnation_id, at = read_uuid(data, at)
        broker_epoch, at = read_int64(data, at)
        end_points, at = read_structs(BrokerEndpoint.decode, data, at, version)
        features, at = read_structs(BrokerFeature.decode, data, at, version)
        rack, at = read_nullable_string(data, at)
        fenced, at = read_bool(data, at)
        in_controlled_shutdown: bool = False
        if version >= 1:
            in_controlled_shutdown, at = read_bool(data, at)
        log_dirs: tuple[Uuid, ...] = ()
        cordoned_log_dirs: tuple[Uuid, ...] | None = None
        tagged, at = read_tagged_fields(data, at)
        unknown: list[tuple[int, bytes]] = []
        for tag, field in tagged:
            if tag == 0 and version >= 3:
                log_dirs, end = read_array(read_uuid, field, 0)
                check_tagged_field_end(tag, field, end)
            elif tag == 1 and version >= 4:
                cordoned_log_dirs, end = read_nullable_array(read_uuid, field, 0)
                check_tagged_field_end(tag, field, end)
            else:
                unknown.append((tag, field))
        return RegisterBrokerRecord(
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
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        write_int32(out, self.broker_id)
        if version >= 2:
            write_bool(out, self.is_migrating_zk_broker)
        elif self.is_migrating_zk_broker:
            refuse_field("is_migrating_zk_broker", version)
        write_uuid(out, self.incarnation_id)
        write_int64(out, self.broker_epoch)
        write_structs(out, self.end_points, version)
        write_structs(out, self.features, version)
        write_nullable_string(out, self.rack)
        write_bool(out, self.fenced)
        if version >= 1:
            write_bool(out, self.in_controlled_shutdown)
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

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["brokerId"] = self.broker_id
        if version >= 2:
            data["isMigratingZkBroker"] = self.is_migrating_zk_broker
        data["incarnationId"] = uuid_text(self.incarnation_id)
        data["brokerEpoch"] = self.broker_epoch
        data["endPoints"] = [item.to_json(version) for item in self.end_points]
        data["features"] = [item.to_json(version) for item in self.features]
        data["rack"] = self.rack
        data["fenced"] = self.fenced
        if version >= 1:
            data["inControlledShutdown"] = self.in_controlled_shutdown
        if version >= 3 and self.log_dirs != ():
            data["logDirs"] = [uuid_text(item) for item in self.log_dirs]
        if version >= 4 and self.cordoned_log_dirs is not None:
            data["cordonedLogDirs"] = (
                None
                if self.cordoned_log_dirs is None
                else [uuid_text(item) for item in self.cordoned_log_dirs]
            )
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> RegisterBrokerRecord:
        broker_id = from_json(to_int32, data, "brokerId")
        is_migrating_zk_broker: bool = False
        if version >= 2:
            is_migrating_zk_broker = from_json(to_bool, data, "isMigratingZkBroker")
        incarnation_id = from_json(to_uuid, data, "incarnationId")
        broker_epoch = from_json(to_int64, data, "brokerEpoch")
        end_points = from_json_structs(BrokerEndpoint.from_json, data, "endPoints", version)
        features = from_json_structs(BrokerFeature.from_json, data, "features", version)
        rack = from_json_nullable(to_string, data, "rack")
        fenced = from_json(to_bool, data, "fenced")
        in_controlled_shutdown: bool = False
        if version >= 1:
            in_controlled_shutdown = from_json(to_bool, data, "inControlledShutdown")
        log_dirs: tuple[Uuid, ...] = ()
        if version >= 3 and "logDirs" in data:
            log_dirs = from_json_array(to_uuid, data, "logDirs")
        cordoned_log_dirs: tuple[Uuid, ...] | None = None
        if version >= 4 and "cordonedLogDirs" in data:
            cordoned_log_dirs = from_json_nullable_array(to_uuid, data, "cordonedLogDirs")
        return RegisterBrokerRecord(
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
        )

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""AccessControlEntryRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.ids import ZERO_UUID, Uuid, uuid_text
from metalog.records.message import Message, message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_int8,
    read_string,
    read_tagged_fields,
    read_uuid,
    write_int8,
    write_string,
    write_tagged_fields,
    write_uuid,
)
from metalog.records.primitives.json_fields import (
    JsonObject,
    from_json,
    to_int8,
    to_string,
    to_uuid,
)


class _AccessControlEntryRecordFields(NamedTuple):
    id: Uuid = ZERO_UUID
    resource_type: int = 0
    resource_name: str = ""
    pattern_type: int = 0
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0
    unknown_tagged_fields: TaggedFields = ()


@message
class AccessControlEntryRecord(Message, _AccessControlEntryRecordFields):
    """Metadata record, api key 18, versions 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 18
    TYPE_NAME: ClassVar[str] = "ACCESS_CONTROL_ENTRY_RECORD"
    VERSIONS: ClassVar[range] = range(1)
    UUIDS: ClassVar[frozenset[str]] = frozenset({"id"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[AccessControlEntryRecord, int]:
        id_, at = read_uuid(data, at)
        resource_type, at = read_int8(data, at)
        resource_name, at = read_string(data, at)
        pattern_type, at = read_int8(data, at)
        principal, at = read_string(data, at)
        host, at = read_string(data, at)
        operation, at = read_int8(data, at)
        permission_type, at = read_int8(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return AccessControlEntryRecord(
            id_,
            resource_type,
            resource_name,
            pattern_type,
            principal,
            host,
            operation,
            permission_type,
            unknown_tagged_fields,
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        write_uuid(out, self.id)
        write_int8(out, self.resource_type)
        write_string(out, self.resource_name)
        write_int8(out, self.pattern_type)
        write_string(out, self.principal)
        write_string(out, self.host)
        write_int8(out, self.operation)
        write_int8(out, self.permission_type)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["id"] = uuid_text(self.id)
        data["resourceType"] = self.resource_type
        data["resourceName"] = self.resource_name
        data["patternType"] = self.pattern_type
        data["principal"] = self.principal
        data["host"] = self.host
        data["operation"] = self.operation
        data["permissionType"] = self.permission_type
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> AccessControlEntryRecord:
        id_ = from_json(to_uuid, data, "id")
        resource_type = from_json(to_int8, data, "resourceType")
        resource_name = from_json(to_string, data, "resourceName")
        pattern_type = from_json(to_int8, data, "patternType")
        principal = from_json(to_string, data, "principal")
        host = from_json(to_string, data, "host")
        operation = from_json(to_int8, data, "operation")
        permission_type = from_json(to_int8, data, "permissionType")
        return AccessControlEntryRecord(
            id_,
            resource_type,
            resource_name,
            pattern_type,
            principal,
            host,
            operation,
            permission_type,
        )

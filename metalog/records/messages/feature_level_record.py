# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""FeatureLevelRecord: Kafka's definition as a typed, straight-line codec."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from metalog.records.message import Message, message
from metalog.records.primitives.fields import (
    TaggedFields,
    read_int16,
    read_string,
    read_tagged_fields,
    write_int16,
    write_string,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import JsonObject, from_json, to_int16, to_string


class _FeatureLevelRecordFields(NamedTuple):
    name: str = ""
    feature_level: int = 0
    unknown_tagged_fields: TaggedFields = ()


@message
class FeatureLevelRecord(Message, _FeatureLevelRecordFields):
    """Metadata record, api key 12, versions 0."""

    __slots__ = ()
    API_KEY: ClassVar[int] = 12
    TYPE_NAME: ClassVar[str] = "FEATURE_LEVEL_RECORD"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[FeatureLevelRecord, int]:
        name, at = read_string(data, at)
        feature_level, at = read_int16(data, at)
        unknown_tagged_fields, at = read_tagged_fields(data, at)
        return FeatureLevelRecord(name, feature_level, unknown_tagged_fields), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.name)
        write_int16(out, self.feature_level)
        write_tagged_fields(out, self.unknown_tagged_fields)

    def to_json(self, version: int) -> dict[str, object]:
        data: dict[str, object] = {}
        data["name"] = self.name
        data["featureLevel"] = self.feature_level
        return data

    @staticmethod
    def from_json(data: JsonObject, version: int) -> FeatureLevelRecord:
        name = from_json(to_string, data, "name")
        feature_level = from_json(to_int16, data, "featureLevel")
        return FeatureLevelRecord(name, feature_level)

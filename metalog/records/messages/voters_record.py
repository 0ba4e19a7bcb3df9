# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of VotersRecord, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.ids import ZERO_UUID, Uuid, uuid_text
from metalog.records.message import ControlMessage, Struct
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
from metalog.records.primitives.json_fields import json_string, json_structs
from metalog.records.primitives.text import decode_text

_INT16: Final = struct.Struct(">h")
_INT16_INT16: Final = struct.Struct(">hh")
_INT32_UUID: Final = struct.Struct(">i16s")
_UINT16: Final = struct.Struct(">H")


class _EndpointFields(NamedTuple):
    name: str = ""
    host: str = ""
    port: int = 0
    unknown_tagged_fields: TaggedFields = ()


class Endpoint(Struct, _EndpointFields):
    __slots__ = ()

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[Endpoint, int]:
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
        (port,) = _UINT16.unpack_from(data, at)
        at += 2
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(Endpoint, (name, host, port, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        write_string(out, self.name)
        write_string(out, self.host)
        out += _UINT16.pack(self.port)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        name, host, port, _ = self
        text = f'{{"name":{json_string(name)},"host":{json_string(host)},"port":{port}'
        return text + "}"


class _KRaftVersionFeatureFields(NamedTuple):
    min_supported_version: int = 0
    max_supported_version: int = 0
    unknown_tagged_fields: TaggedFields = ()


class KRaftVersionFeature(Struct, _KRaftVersionFeatureFields):
    __slots__ = ()

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[KRaftVersionFeature, int]:
        min_supported_version, max_supported_version = _INT16_INT16.unpack_from(data, at)
        at += 4
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(
            KRaftVersionFeature, (min_supported_version, max_supported_version, unknown)
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        out += _INT16_INT16.pack(self.min_supported_version, self.max_supported_version)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        min_supported_version, max_supported_version, _ = self
        text = (
            f'{{"minSupportedVersion":{min_supported_version}'
            f',"maxSupportedVersion":{max_supported_version}'
        )
        return text + "}"


class _VoterFields(NamedTuple):
    voter_id: int = 0
    voter_directory_id: Uuid = ZERO_UUID
    endpoints: tuple[Endpoint, ...] = ()
    kraft_version_feature: KRaftVersionFeature = KRaftVersionFeature()
    unknown_tagged_fields: TaggedFields = ()


class Voter(Struct, _VoterFields):
    __slots__ = ()
    UUIDS: ClassVar[frozenset[str]] = frozenset({"voter_directory_id"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[Voter, int]:
        voter_id, voter_directory_id = _INT32_UUID.unpack_from(data, at)
        at += 20
        endpoints, at = read_structs(Endpoint.decode, data, at, version)
        kraft_version_feature, at = KRaftVersionFeature.decode(data, at, version)
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(
            Voter, (voter_id, voter_directory_id, endpoints, kraft_version_feature, unknown)
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        check_uuid(self.voter_directory_id)
        out += _INT32_UUID.pack(self.voter_id, self.voter_directory_id)
        write_structs(out, self.endpoints, version)
        self.kraft_version_feature.encode(out, version)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        voter_id, voter_directory_id, endpoints, kraft_version_feature, _ = self
        text = (
            f'{{"voterId":{voter_id}'
            f',"voterDirectoryId":"{uuid_text(voter_directory_id)}"'
            f',"endpoints":{json_structs(endpoints, version)}'
            f',"kRaftVersionFeature":{kraft_version_feature.json_text(version)}'
        )
        return text + "}"


class _VotersRecordFields(NamedTuple):
    version: int = 0
    voters: tuple[Voter, ...] = ()
    unknown_tagged_fields: TaggedFields = ()


class VotersRecord(ControlMessage, _VotersRecordFields):
    """Control record, type 6, version 0."""

    __slots__ = ()
    CONTROL_TYPE: ClassVar[int] = 6
    TYPE_NAME: ClassVar[str] = "KRAFT_VOTERS"
    VERSIONS: ClassVar[range] = range(1)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[VotersRecord, int]:
        (version_,) = _INT16.unpack_from(data, at)
        at += 2
        voters, at = read_structs(Voter.decode, data, at, version)
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(VotersRecord, (version_, voters, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        out += _INT16.pack(self.version)
        write_structs(out, self.voters, version)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        version_, voters, _ = self
        text = f'{{"version":{version_},"voters":{json_structs(voters, version)}'
        return text + "}"

# Generated from metalog/records/schema.py by metalog.records.codegen.generate.

"""The class of LeaderChangeMessage, with its codec."""

from __future__ import annotations

import struct
from typing import ClassVar, Final, NamedTuple

from metalog.ids import ZERO_UUID, Uuid, uuid_text
from metalog.records.message import ControlMessage, Struct
from metalog.records.primitives.fields import (
    TaggedFields,
    check_uuid,
    read_structs,
    read_tagged_fields,
    refuse_field,
    write_structs,
    write_tagged_fields,
)
from metalog.records.primitives.json_fields import json_structs

_INT16_INT32: Final = struct.Struct(">hi")
_INT32: Final = struct.Struct(">i")
_UUID: Final = struct.Struct(">16s")


class _VoterFields(NamedTuple):
    voter_id: int = 0
    voter_directory_id: Uuid = ZERO_UUID
    unknown_tagged_fields: TaggedFields = ()


class Voter(Struct, _VoterFields):
    __slots__ = ()
    UUIDS: ClassVar[frozenset[str]] = frozenset({"voter_directory_id"})

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[Voter, int]:
        voter_directory_id: Uuid = ZERO_UUID
        (voter_id,) = _INT32.unpack_from(data, at)
        at += 4
        if version >= 1:
            (voter_directory_id,) = _UUID.unpack_from(data, at)
            at += 16
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(Voter, (voter_id, voter_directory_id, unknown)), at

    def encode(self, out: bytearray, version: int) -> None:
        out += _INT32.pack(self.voter_id)
        if version >= 1:
            check_uuid(self.voter_directory_id)
            out += _UUID.pack(self.voter_directory_id)
        elif self.voter_directory_id != ZERO_UUID:
            refuse_field("voter_directory_id", version)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        voter_id, voter_directory_id, _ = self
        text = f'{{"voterId":{voter_id}'
        if version >= 1:
            text += f',"voterDirectoryId":"{uuid_text(voter_directory_id)}"'
        return text + "}"


class _LeaderChangeMessageFields(NamedTuple):
    version: int = 0
    leader_id: int = 0
    voters: tuple[Voter, ...] = ()
    granting_voters: tuple[Voter, ...] = ()
    unknown_tagged_fields: TaggedFields = ()


class LeaderChangeMessage(ControlMessage, _LeaderChangeMessageFields):
    """Control record, type 2, versions 0-1."""

    __slots__ = ()
    CONTROL_TYPE: ClassVar[int] = 2
    TYPE_NAME: ClassVar[str] = "LEADER_CHANGE"
    VERSIONS: ClassVar[range] = range(2)

    @staticmethod
    def decode(data: bytes, at: int, version: int) -> tuple[LeaderChangeMessage, int]:
        version_, leader_id = _INT16_INT32.unpack_from(data, at)
        at += 6
        voters, at = read_structs(Voter.decode, data, at, version)
        granting_voters, at = read_structs(Voter.decode, data, at, version)
        unknown: TaggedFields = ()
        if data[at]:
            unknown, at = read_tagged_fields(data, at)
        else:
            at += 1
        return tuple.__new__(
            LeaderChangeMessage, (version_, leader_id, voters, granting_voters, unknown)
        ), at

    def encode(self, out: bytearray, version: int) -> None:
        out += _INT16_INT32.pack(self.version, self.leader_id)
        write_structs(out, self.voters, version)
        write_structs(out, self.granting_voters, version)
        if self.unknown_tagged_fields:
            write_tagged_fields(out, self.unknown_tagged_fields)
        else:
            out.append(0)

    def json_text(self, version: int) -> str:
        version_, leader_id, voters, granting_voters, _ = self
        text = (
            f'{{"version":{version_}'
            f',"leaderId":{leader_id}'
            f',"voters":{json_structs(voters, version)}'
            f',"grantingVoters":{json_structs(granting_voters, version)}'
        )
        return text + "}"

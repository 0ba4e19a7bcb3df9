"""Declares the metadata records and the quorum's control records of Kafka 4.3 and 4.4, as data.

Names, types and version ranges are Kafka's (``common/metadata/*.json`` in the kafka-metadata jar,
``common/message/*.json`` in kafka-clients); a test in tests/compat compares every field.
``python -m metalog.records.codegen.generate`` writes ``messages/`` from this module.

This module must not know how a field is encoded; at run time only ``avro`` reads it.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Field(NamedTuple):
    """One field of a message or struct.

    ``type`` is Kafka's name of the type, such as ``int32`` or ``[]int32``, or the name of a struct
    whose fields are ``fields``. The field exists in the message versions ``versions``. It may be
    null in the versions ``nullable``, and has the tag ``tag`` in the versions ``tagged``. A
    ``repr`` masks a ``secret`` field.
    """

    name: str
    type: str
    versions: str = "0+"
    nullable: str | None = None
    tag: int | None = None
    tagged: str | None = None
    default: str | None = None
    fields: tuple[Field, ...] = ()
    secret: bool = False


class MessageSchema(NamedTuple):
    """One message; ``key`` is a metadata record's API key, or a control record's type."""

    name: str
    key: int
    type_name: str
    versions: str
    fields: tuple[Field, ...]


def _tagged(
    name: str,
    type: str,
    tag: int,
    versions: str = "0+",
    *,
    nullable: bool = False,
    default: str | None = None,
) -> Field:
    if nullable:
        return Field(name, type, versions, versions, tag, versions, "null")
    return Field(name, type, versions, None, tag, versions, default)


def _record(name: str, key: int, *fields: Field, versions: str = "0") -> MessageSchema:
    """A metadata record, whose type name is its name in upper case: ``TOPIC_RECORD``."""
    type_name = re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()
    return MessageSchema(name, key, type_name, versions, fields)


def _control(
    name: str, key: int, type_name: str, *fields: Field, versions: str = "0"
) -> MessageSchema:
    return MessageSchema(name, key, type_name, versions, fields)


_ENDPOINT = (
    Field("Name", "string"),
    Field("Host", "string"),
    Field("Port", "uint16"),
    Field("SecurityProtocol", "int16"),
)
_FEATURE = (
    Field("Name", "string"),
    Field("MinSupportedVersion", "int16"),
    Field("MaxSupportedVersion", "int16"),
)

METADATA_RECORDS = (
    _record(
        "RegisterBrokerRecord",
        0,
        Field("BrokerId", "int32"),
        Field("IsMigratingZkBroker", "bool", "2+", default="false"),
        Field("IncarnationId", "uuid"),
        Field("BrokerEpoch", "int64"),
        Field("EndPoints", "[]BrokerEndpoint", fields=_ENDPOINT),
        Field("Features", "[]BrokerFeature", fields=_FEATURE),
        Field("Rack", "string", nullable="0+"),
        Field("Fenced", "bool", default="true"),
        Field("InControlledShutdown", "bool", "1+", default="false"),
        _tagged("LogDirs", "[]uuid", 0, "3+"),
        _tagged("CordonedLogDirs", "[]uuid", 1, "4+", nullable=True),
        versions="0-4",
    ),
    _record("UnregisterBrokerRecord", 1, Field("BrokerId", "int32"), Field("BrokerEpoch", "int64")),
    _record("TopicRecord", 2, Field("Name", "string"), Field("TopicId", "uuid")),
    _record(
        "PartitionRecord",
        3,
        Field("PartitionId", "int32", default="-1"),
        Field("TopicId", "uuid"),
        Field("Replicas", "[]int32"),
        Field("Isr", "[]int32"),
        Field("RemovingReplicas", "[]int32"),
        Field("AddingReplicas", "[]int32"),
        Field("Leader", "int32", default="-1"),
        _tagged("LeaderRecoveryState", "int8", 0, default="0"),
        Field("LeaderEpoch", "int32", default="-1"),
        Field("PartitionEpoch", "int32", default="-1"),
        Field("Directories", "[]uuid", "1+"),
        _tagged("EligibleLeaderReplicas", "[]int32", 1, "2+", nullable=True),
        _tagged("LastKnownElr", "[]int32", 2, "2+", nullable=True),
        versions="0-2",
    ),
    _record(
        "ConfigRecord",
        4,
        Field("ResourceType", "int8"),
        Field("ResourceName", "string"),
        Field("Name", "string"),
        Field("Value", "string", nullable="0+", secret=True),
    ),
    _record(
        "PartitionChangeRecord",
        5,
        Field("PartitionId", "int32", default="-1"),
        Field("TopicId", "uuid"),
        _tagged("Isr", "[]int32", 0, nullable=True),
        _tagged("Leader", "int32", 1, default="-2"),
        _tagged("Replicas", "[]int32", 2, nullable=True),
        _tagged("RemovingReplicas", "[]int32", 3, nullable=True),
        _tagged("AddingReplicas", "[]int32", 4, nullable=True),
        _tagged("LeaderRecoveryState", "int8", 5, default="-1"),
        _tagged("Directories", "[]uuid", 8, "1+", nullable=True),
        _tagged("EligibleLeaderReplicas", "[]int32", 6, "2+", nullable=True),
        _tagged("LastKnownElr", "[]int32", 7, "2+", nullable=True),
        versions="0-2",
    ),
    _record("FenceBrokerRecord", 7, Field("Id", "int32"), Field("Epoch", "int64")),
    _record("UnfenceBrokerRecord", 8, Field("Id", "int32"), Field("Epoch", "int64")),
    _record("RemoveTopicRecord", 9, Field("TopicId", "uuid")),
    _record(
        "DelegationTokenRecord",
        10,
        Field("Owner", "string"),
        Field("Requester", "string"),
        Field("Renewers", "[]string"),
        Field("IssueTimestamp", "int64"),
        Field("MaxTimestamp", "int64"),
        Field("ExpirationTimestamp", "int64"),
        Field("TokenId", "string"),
    ),
    _record(
        "UserScramCredentialRecord",
        11,
        Field("Name", "string"),
        Field("Mechanism", "int8"),
        Field("Salt", "bytes", secret=True),
        Field("StoredKey", "bytes", secret=True),
        Field("ServerKey", "bytes", secret=True),
        Field("Iterations", "int32"),
    ),
    _record("FeatureLevelRecord", 12, Field("Name", "string"), Field("FeatureLevel", "int16")),
    _record(
        "ClientQuotaRecord",
        14,
        Field(
            "Entity",
            "[]EntityData",
            fields=(Field("EntityType", "string"), Field("EntityName", "string", nullable="0+")),
        ),
        Field("Key", "string"),
        Field("Value", "float64"),
        Field("Remove", "bool"),
    ),
    _record(
        "ProducerIdsRecord",
        15,
        Field("BrokerId", "int32"),
        Field("BrokerEpoch", "int64", default="-1"),
        Field("NextProducerId", "int64"),
    ),
    _record(
        "BrokerRegistrationChangeRecord",
        17,
        Field("BrokerId", "int32"),
        Field("BrokerEpoch", "int64"),
        _tagged("Fenced", "int8", 0),
        _tagged("InControlledShutdown", "int8", 1, "1+"),
        _tagged("LogDirs", "[]uuid", 2, "2+"),
        _tagged("CordonedLogDirs", "[]uuid", 3, "3+", nullable=True),
        versions="0-3",
    ),
    _record(
        "AccessControlEntryRecord",
        18,
        Field("Id", "uuid"),
        Field("ResourceType", "int8"),
        Field("ResourceName", "string"),
        Field("PatternType", "int8"),
        Field("Principal", "string"),
        Field("Host", "string"),
        Field("Operation", "int8"),
        Field("PermissionType", "int8"),
    ),
    _record("RemoveAccessControlEntryRecord", 19, Field("Id", "uuid")),
    _record("NoOpRecord", 20),
    _record("ZkMigrationStateRecord", 21, Field("ZkMigrationState", "int8")),
    _record(
        "RemoveUserScramCredentialRecord", 22, Field("Name", "string"), Field("Mechanism", "int8")
    ),
    _record("BeginTransactionRecord", 23, _tagged("Name", "string", 0, nullable=True)),
    _record("EndTransactionRecord", 24),
    _record("AbortTransactionRecord", 25, _tagged("Reason", "string", 0, nullable=True)),
    _record("RemoveDelegationTokenRecord", 26, Field("TokenId", "string")),
    _record(
        "RegisterControllerRecord",
        27,
        Field("ControllerId", "int32"),
        Field("IncarnationId", "uuid"),
        Field("ZkMigrationReady", "bool"),
        Field("EndPoints", "[]ControllerEndpoint", fields=_ENDPOINT),
        Field("Features", "[]ControllerFeature", fields=_FEATURE),
    ),
    _record("ClearElrRecord", 28, Field("TopicName", "string")),
    _record("UnregisterControllerRecord", 29, Field("ControllerId", "int32")),
)

CONTROL_RECORDS = (
    _control(
        "LeaderChangeMessage",
        2,
        "LEADER_CHANGE",
        Field("Version", "int16"),
        Field("LeaderId", "int32"),
        Field(
            "Voters",
            "[]Voter",
            fields=(Field("VoterId", "int32"), Field("VoterDirectoryId", "uuid", "1+")),
        ),
        Field("GrantingVoters", "[]Voter"),
        versions="0-1",
    ),
    _control(
        "SnapshotHeaderRecord",
        3,
        "SNAPSHOT_HEADER",
        Field("Version", "int16"),
        Field("LastContainedLogTimestamp", "int64"),
    ),
    _control("SnapshotFooterRecord", 4, "SNAPSHOT_FOOTER", Field("Version", "int16")),
    _control(
        "KRaftVersionRecord",
        5,
        "KRAFT_VERSION",
        Field("Version", "int16"),
        Field("KRaftVersion", "int16"),
    ),
    _control(
        "VotersRecord",
        6,
        "KRAFT_VOTERS",
        Field("Version", "int16"),
        Field(
            "Voters",
            "[]Voter",
            fields=(
                Field("VoterId", "int32"),
                Field("VoterDirectoryId", "uuid"),
                Field("Endpoints", "[]Endpoint", fields=_ENDPOINT[:3]),
                Field("KRaftVersionFeature", "KRaftVersionFeature", fields=_FEATURE[1:]),
            ),
        ),
    ),
)

"""A table of the operations and resource types that each of Kafka's requests needs.

``APIS`` has the checks of Kafka 4.4.0's brokers and controllers. Each tuple of ``PermissionStep``
has the requests that one of Kafka's Java clients sends.

Sources: the calls to the authorizer in Kafka 4.4.0's KafkaApis, ControllerApis, AclApis,
ConfigHelper and DescribeTopicPartitionsRequestHandler; Kafka's documentation, "Operations
and Resources on Protocols", where it agrees with these calls.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from metalog.acl import Operation, ResourceType

Op = Operation
On = ResourceType


class Permission(NamedTuple):
    """One operation on one resource type; if ``any_name``, one resource of any name is enough."""

    operation: Operation
    resource_type: ResourceType
    any_name: bool = False


class PermissionNeed(NamedTuple):
    """One permission of ``one_of`` is enough.

    Kafka checks only if the condition ``when`` applies; an empty condition always applies. If an
    ``optional`` need is denied, Kafka refuses only the case in ``when``.
    """

    one_of: tuple[Permission, ...]
    when: str = ""
    optional: bool = False


class ApiPermissions(NamedTuple):
    """A request of Kafka's protocol. It needs all of ``needs`` whose conditions apply."""

    key: int
    name: str
    needs: tuple[PermissionNeed, ...]
    note: str = ""


def _need(
    *one_of: tuple[Operation, ResourceType], when: str = "", optional: bool = False
) -> PermissionNeed:
    return PermissionNeed(
        tuple(Permission(operation, on) for operation, on in one_of), when, optional
    )


def _api(key: int, name: str, *needs: PermissionNeed, note: str = "") -> ApiPermissions:
    return ApiPermissions(key, name, needs, note)


_CLUSTER_ACTION: Final = _need((Op.CLUSTER_ACTION, On.CLUSTER))
_ALTER_CLUSTER: Final = _need((Op.ALTER, On.CLUSTER))
_DESCRIBE_CLUSTER: Final = _need((Op.DESCRIBE, On.CLUSTER))
_DESCRIBE_TOPIC: Final = _need((Op.DESCRIBE, On.TOPIC))
_DELETE_TOPIC: Final = _need((Op.DELETE, On.TOPIC))
_ALTER_TOPIC: Final = _need((Op.ALTER, On.TOPIC))
_READ_TOPIC: Final = _need((Op.READ, On.TOPIC))
_READ_GROUP: Final = _need((Op.READ, On.GROUP))
_DESCRIBE_GROUP: Final = _need((Op.DESCRIBE, On.GROUP))
_DELETE_GROUP: Final = _need((Op.DELETE, On.GROUP))
_WRITE_TOPIC: Final = _need((Op.WRITE, On.TOPIC))
_WRITE_TRANSACTION: Final = _need((Op.WRITE, On.TRANSACTIONAL_ID))
_CREATE: Final = ((Op.CREATE, On.CLUSTER), (Op.CREATE, On.TOPIC))
_TRANSACTIONAL: Final = "the producer is transactional"
_NAMES_TOPICS: Final = "it names topics"
_OF_CLIENTS: Final = "a client sends it, up to version 3"
_AUTO_CREATE: Final = "the topic is created automatically"
TO_A_CONTROLLER: Final = "it is sent to a controller"
_OF_OTHERS: Final = "the token belongs to another user"
_UNCHECKED: Final = "Kafka does not authorize this request"
_OWNERS_ONLY: Final = "only the owner or a renewer of the token may send it; no ACL is checked"
_READ_GROUP_AND_TOPIC: Final = (_READ_GROUP, _READ_TOPIC)


def _configs(operation: Operation) -> tuple[PermissionNeed, ...]:
    return (
        _need(
            (operation, On.CLUSTER),
            when="the resource is a broker, a broker logger or client metrics",
        ),
        _need((operation, On.TOPIC), when="the resource is a topic"),
        _need((operation, On.GROUP), when="the resource is a group"),
    )


_IDEMPOTENT: Final = PermissionNeed(
    (Permission(Op.IDEMPOTENT_WRITE, On.CLUSTER), Permission(Op.WRITE, On.TOPIC, any_name=True)),
    when="the producer is idempotent and not transactional",
)
_GROUP_MEMBER: Final = (_READ_GROUP, _need((Op.DESCRIBE, On.TOPIC), when=_NAMES_TOPICS))
_GROUP_DESCRIBED: Final = (
    _DESCRIBE_GROUP,
    _need((Op.DESCRIBE, On.TOPIC), when="the answer shows the group's topics"),
)

APIS: Final[tuple[ApiPermissions, ...]] = (
    _api(0, "Produce", _need((Op.WRITE, On.TRANSACTIONAL_ID), when=_TRANSACTIONAL), _WRITE_TOPIC),
    _api(
        1,
        "Fetch",
        _need((Op.READ, On.TOPIC), when="a consumer fetches"),
        _need((Op.CLUSTER_ACTION, On.CLUSTER), when="a follower fetches"),
    ),
    _api(2, "ListOffsets", _DESCRIBE_TOPIC),
    _api(
        3,
        "Metadata",
        _DESCRIBE_TOPIC,
        _need(*_CREATE, when=_AUTO_CREATE, optional=True),
        note="a listing of all topics leaves out topics that the client may not describe",
    ),
    _api(8, "OffsetCommit", *_READ_GROUP_AND_TOPIC),
    _api(9, "OffsetFetch", _DESCRIBE_GROUP, _DESCRIBE_TOPIC),
    _api(
        10,
        "FindCoordinator",
        _need((Op.DESCRIBE, On.GROUP), when="it looks for a group's coordinator"),
        _need((Op.DESCRIBE, On.TRANSACTIONAL_ID), when="it looks for a transaction's coordinator"),
        _need((Op.CLUSTER_ACTION, On.CLUSTER), when="it looks for a share partition's coordinator"),
    ),
    _api(11, "JoinGroup", _READ_GROUP),
    _api(12, "Heartbeat", _READ_GROUP),
    _api(13, "LeaveGroup", _READ_GROUP),
    _api(14, "SyncGroup", _READ_GROUP),
    _api(15, "DescribeGroups", _DESCRIBE_GROUP),
    _api(
        16,
        "ListGroups",
        _need((Op.DESCRIBE, On.CLUSTER), (Op.DESCRIBE, On.GROUP)),
        note="the listing leaves out groups that the client may not describe",
    ),
    _api(17, "SaslHandshake", note=_UNCHECKED),
    _api(18, "ApiVersions", note=_UNCHECKED),
    _api(
        19,
        "CreateTopics",
        _need(*_CREATE),
        _need(
            (Op.DESCRIBE_CONFIGS, On.TOPIC),
            when="the answer shows the topic's configuration",
            optional=True,
        ),
    ),
    _api(
        20,
        "DeleteTopics",
        _need((Op.DELETE, On.CLUSTER), (Op.DELETE, On.TOPIC)),
        _need((Op.DELETE, On.CLUSTER), (Op.DESCRIBE, On.TOPIC)),
    ),
    _api(21, "DeleteRecords", _DELETE_TOPIC),
    _api(
        22,
        "InitProducerId",
        _need((Op.WRITE, On.TRANSACTIONAL_ID), when=_TRANSACTIONAL),
        _need(
            (Op.TWO_PHASE_COMMIT, On.TRANSACTIONAL_ID),
            when="it enables two-phase commit",
            optional=True,
        ),
        _IDEMPOTENT,
    ),
    _api(
        23, "OffsetForLeaderEpoch", _need((Op.CLUSTER_ACTION, On.CLUSTER), (Op.DESCRIBE, On.TOPIC))
    ),
    _api(
        24,
        "AddPartitionsToTxn",
        _need((Op.WRITE, On.TRANSACTIONAL_ID), when=_OF_CLIENTS),
        _need((Op.WRITE, On.TOPIC), when=_OF_CLIENTS),
        _need((Op.CLUSTER_ACTION, On.CLUSTER), when="a broker sends it, from version 4"),
    ),
    _api(25, "AddOffsetsToTxn", _WRITE_TRANSACTION, _READ_GROUP),
    _api(26, "EndTxn", _WRITE_TRANSACTION),
    _api(27, "WriteTxnMarkers", _need((Op.ALTER, On.CLUSTER), (Op.CLUSTER_ACTION, On.CLUSTER))),
    _api(28, "TxnOffsetCommit", _WRITE_TRANSACTION, *_READ_GROUP_AND_TOPIC),
    _api(29, "DescribeAcls", _DESCRIBE_CLUSTER),
    _api(30, "CreateAcls", _ALTER_CLUSTER),
    _api(31, "DeleteAcls", _ALTER_CLUSTER),
    _api(32, "DescribeConfigs", *_configs(Op.DESCRIBE_CONFIGS)),
    _api(33, "AlterConfigs", *_configs(Op.ALTER_CONFIGS)),
    _api(34, "AlterReplicaLogDirs", _ALTER_CLUSTER),
    _api(35, "DescribeLogDirs", _DESCRIBE_CLUSTER),
    _api(36, "SaslAuthenticate", note=_UNCHECKED),
    _api(37, "CreatePartitions", _ALTER_TOPIC),
    _api(38, "CreateDelegationToken", _need((Op.CREATE_TOKENS, On.USER), when=_OF_OTHERS)),
    _api(39, "RenewDelegationToken", note=_OWNERS_ONLY),
    _api(40, "ExpireDelegationToken", note=_OWNERS_ONLY),
    _api(
        41,
        "DescribeDelegationToken",
        _need((Op.DESCRIBE, On.DELEGATION_TOKEN), (Op.DESCRIBE_TOKENS, On.USER), when=_OF_OTHERS),
    ),
    _api(42, "DeleteGroups", _DELETE_GROUP),
    _api(43, "ElectLeaders", _ALTER_CLUSTER),
    _api(
        44,
        "IncrementalAlterConfigs",
        *_configs(Op.ALTER_CONFIGS),
        _need(
            (Op.CLUSTER_ACTION, On.CLUSTER), when="it sets a controller's log levels", optional=True
        ),
    ),
    _api(45, "AlterPartitionReassignments", _ALTER_CLUSTER),
    _api(46, "ListPartitionReassignments", _DESCRIBE_CLUSTER),
    _api(47, "OffsetDelete", _DELETE_GROUP, _READ_TOPIC),
    _api(48, "DescribeClientQuotas", _need((Op.DESCRIBE_CONFIGS, On.CLUSTER))),
    _api(49, "AlterClientQuotas", _need((Op.ALTER_CONFIGS, On.CLUSTER))),
    _api(50, "DescribeUserScramCredentials", _DESCRIBE_CLUSTER),
    _api(51, "AlterUserScramCredentials", _ALTER_CLUSTER),
    _api(52, "Vote", _CLUSTER_ACTION),
    _api(53, "BeginQuorumEpoch", _CLUSTER_ACTION),
    _api(54, "EndQuorumEpoch", _CLUSTER_ACTION),
    _api(55, "DescribeQuorum", _DESCRIBE_CLUSTER),
    _api(56, "AlterPartition", _CLUSTER_ACTION),
    _api(57, "UpdateFeatures", _ALTER_CLUSTER),
    _api(
        58,
        "Envelope",
        _CLUSTER_ACTION,
        note="the forwarded request is authorized for its original client",
    ),
    _api(59, "FetchSnapshot", _CLUSTER_ACTION),
    _api(
        60,
        "DescribeCluster",
        _need(
            (Op.DESCRIBE, On.CLUSTER), when="it asks for the authorized operations", optional=True
        ),
        _need((Op.ALTER, On.CLUSTER), when=TO_A_CONTROLLER, optional=True),
    ),
    _api(61, "DescribeProducers", _READ_TOPIC),
    _api(62, "BrokerRegistration", _CLUSTER_ACTION),
    _api(63, "BrokerHeartbeat", _CLUSTER_ACTION),
    _api(64, "UnregisterBroker", _ALTER_CLUSTER),
    _api(
        65,
        "DescribeTransactions",
        _need((Op.DESCRIBE, On.TRANSACTIONAL_ID)),
        _need(
            (Op.DESCRIBE, On.TOPIC), when="the answer shows the transaction's topics", optional=True
        ),
    ),
    _api(
        66,
        "ListTransactions",
        _need((Op.DESCRIBE, On.TRANSACTIONAL_ID)),
        note="the listing leaves out transactions that the client may not describe",
    ),
    _api(67, "AllocateProducerIds", _CLUSTER_ACTION),
    _api(68, "ConsumerGroupHeartbeat", *_GROUP_MEMBER),
    _api(69, "ConsumerGroupDescribe", *_GROUP_DESCRIBED),
    _api(70, "ControllerRegistration", _CLUSTER_ACTION),
    _api(71, "GetTelemetrySubscriptions", note=_UNCHECKED),
    _api(72, "PushTelemetry", note=_UNCHECKED),
    _api(73, "AssignReplicasToDirs", _CLUSTER_ACTION),
    _api(74, "ListConfigResources", _need((Op.DESCRIBE_CONFIGS, On.CLUSTER))),
    _api(75, "DescribeTopicPartitions", _DESCRIBE_TOPIC),
    _api(76, "ShareGroupHeartbeat", *_GROUP_MEMBER),
    _api(77, "ShareGroupDescribe", *_GROUP_DESCRIBED),
    _api(78, "ShareFetch", *_READ_GROUP_AND_TOPIC),
    _api(79, "ShareAcknowledge", *_READ_GROUP_AND_TOPIC),
    _api(80, "AddRaftVoter", _ALTER_CLUSTER),
    _api(81, "RemoveRaftVoter", _ALTER_CLUSTER),
    _api(82, "UpdateRaftVoter", _CLUSTER_ACTION),
    _api(83, "InitializeShareGroupState", _CLUSTER_ACTION),
    _api(84, "ReadShareGroupState", _CLUSTER_ACTION),
    _api(85, "WriteShareGroupState", _CLUSTER_ACTION),
    _api(86, "DeleteShareGroupState", _CLUSTER_ACTION),
    _api(87, "ReadShareGroupStateSummary", _CLUSTER_ACTION),
    _api(
        88,
        "StreamsGroupHeartbeat",
        *_GROUP_MEMBER,
        _need(*_CREATE, when="it creates internal topics", optional=True),
    ),
    _api(89, "StreamsGroupDescribe", *_GROUP_DESCRIBED),
    _api(90, "DescribeShareGroupOffsets", _DESCRIBE_GROUP, _DESCRIBE_TOPIC),
    _api(91, "AlterShareGroupOffsets", *_READ_GROUP_AND_TOPIC),
    _api(92, "DeleteShareGroupOffsets", _DELETE_GROUP, _READ_TOPIC),
    _api(93, "StreamsGroupTopologyDescriptionUpdate", _READ_GROUP),
    _api(94, "UnregisterController", _ALTER_CLUSTER),
)


class PermissionStep(NamedTuple):
    """A request that a client sends for a task, and one permission that it needs."""

    api: str
    need: PermissionNeed


def _steps(*steps: tuple[str, *tuple[PermissionNeed, ...]]) -> tuple[PermissionStep, ...]:
    return tuple(PermissionStep(api, need) for api, *needs in steps for need in needs)


PRODUCER: Final = _steps(
    ("Metadata", _DESCRIBE_TOPIC),
    ("InitProducerId", _IDEMPOTENT._replace(when="")),
    ("Produce", _WRITE_TOPIC),
)
"""An idempotent producer, the default of Kafka's Java client."""

TRANSACTIONAL_PRODUCER: Final = _steps(
    ("Metadata", _DESCRIBE_TOPIC),
    ("FindCoordinator", _need((Op.DESCRIBE, On.TRANSACTIONAL_ID))),
    ("InitProducerId", _WRITE_TRANSACTION),
    ("AddPartitionsToTxn", _WRITE_TRANSACTION, _WRITE_TOPIC),
    ("Produce", _WRITE_TRANSACTION, _WRITE_TOPIC),
    ("EndTxn", _WRITE_TRANSACTION),
)

ASSIGNED_CONSUMER: Final = _steps(
    ("Metadata", _DESCRIBE_TOPIC), ("ListOffsets", _DESCRIBE_TOPIC), ("Fetch", _READ_TOPIC)
)
"""A consumer that assigns partitions to itself and has no group."""

CONSUMER: Final = _steps(
    ("Metadata", _DESCRIBE_TOPIC),
    ("FindCoordinator", _DESCRIBE_GROUP),
    ("JoinGroup", _READ_GROUP),
    ("SyncGroup", _READ_GROUP),
    ("Heartbeat", _READ_GROUP),
    ("ConsumerGroupHeartbeat", _READ_GROUP, _DESCRIBE_TOPIC),
    ("OffsetFetch", _DESCRIBE_GROUP, _DESCRIBE_TOPIC),
    ("ListOffsets", _DESCRIBE_TOPIC),
    ("Fetch", _READ_TOPIC),
    ("OffsetCommit", *_READ_GROUP_AND_TOPIC),
    ("LeaveGroup", _READ_GROUP),
)
"""A consumer in a group, with the classic protocol or KIP-848's."""

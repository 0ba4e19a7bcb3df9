"""Knows which requests only an active controller logs, according to ControllerApis and KafkaApis.

The list is that of Kafka 4.3.1, and UnregisterController of Kafka 4.4.

A broker forwards most changes of the cluster, and the active controller authorizes the changes. A
log is an active controller's log if it has a request that no broker logs, such as BrokerHeartbeat.
This module must not know Spark, nor files.
"""

from __future__ import annotations

from typing import Final

from authorizer.engine.decide import concerns
from metalog.acl import Acl, Operation, ResourceType

_PASSED_ON: Final = (
    "CreateTopics", "DeleteTopics", "CreatePartitions", "CreateAcls", "DeleteAcls",
    "ElectLeaders", "AlterPartitionReassignments", "ListPartitionReassignments",
    "AlterClientQuotas", "AlterUserScramCredentials", "UpdateFeatures", "UnregisterBroker",
    "UnregisterController", "DescribeQuorum", "AddRaftVoter", "RemoveRaftVoter",
)  # fmt: skip
_AMONG_NODES: Final = (
    "Envelope", "BrokerRegistration", "BrokerHeartbeat", "ControllerRegistration",
    "AlterPartition", "AllocateProducerIds", "AssignReplicasToDirs", "UpdateRaftVoter",
    "FetchSnapshot",
)  # fmt: skip
CONTROLLER_REQUESTS: Final = (*_PASSED_ON, *_AMONG_NODES)
"""Requests that only an active controller logs."""

_DECIDED: Final = {
    ResourceType.CLUSTER: frozenset(
        {
            Operation.CREATE,
            Operation.DELETE,
            Operation.ALTER,
            Operation.DESCRIBE,
            Operation.CLUSTER_ACTION,
            Operation.ALTER_CONFIGS,
            Operation.DESCRIBE_CONFIGS,
        }
    ),
    ResourceType.TOPIC: frozenset(
        {
            Operation.CREATE,
            Operation.DELETE,
            Operation.ALTER,
            Operation.ALTER_CONFIGS,
            Operation.DESCRIBE_CONFIGS,
        }
    ),
    ResourceType.GROUP: frozenset({Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS}),
}
"""Operations that a controller can authorize. DeleteTopics also checks DESCRIBE, but an ACL for
DELETE also allows DESCRIBE. CREATE_TOKENS is left out, because a broker checks this operation."""


def controller_can_decide_by(acl: Acl) -> bool:
    """Whether a controller can authorize a request by ``acl``, so that no broker logs this use."""
    return any(concerns(acl, each) for each in _DECIDED.get(acl.resource_type, ()))

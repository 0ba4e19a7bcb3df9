"""Knows which requests only a controller logs, by Kafka 4.3.1's ControllerApis and KafkaApis.

A broker forwards most changes of the cluster without authorizing them; the active controller
authorizes them. The log of an active controller is recognized by requests that no broker logs: one
broker heartbeat is enough. This module must not know Spark, nor files.
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
REQUESTS: Final = (*_PASSED_ON, *_AMONG_NODES)
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
"""The operations that a controller authorizes. Two are left out: DESCRIBE of a deleted topic,
because an ACL for DELETE allows it; and CREATE_TOKENS, which a broker checks before it forwards."""


def may_decide_by(acl: Acl) -> bool:
    """Whether a use of ``acl`` may appear only in a controller's log."""
    return any(concerns(acl, each) for each in _DECIDED.get(acl.resource_type, ()))

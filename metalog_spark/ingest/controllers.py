"""Requests that only a controller logs, by Kafka 4.3.1's ControllerApis and KafkaApis.

A broker passes most changes of the cluster on unasked, and the active controller's authorizer
decides them. The log of an active controller can be told by requests that brokers ask nobody
about: one beat of a broker's heart is enough. This module must not know Spark, nor files.
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
"""The requests that a line of an active controller's log may be about, and none of a broker's.
Those by which voters elect it are not here: the others are asked them, too."""

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
"""What a controller's authorizer is asked. Not here is DESCRIBE of a topic that is deleted, since
whatever allows DELETE allows it, nor CREATE_TOKENS, which a broker asks before it passes it on."""


def may_decide_by(acl: Acl) -> bool:
    """Whether a use of ``acl`` may stand in a controller's log alone."""
    return any(concerns(acl, each) for each in _DECIDED.get(acl.resource_type, ()))

"""Finds ALLOWs that grant more than any application needs.

Such an ALLOW makes a principal nearly a super user, or lets the principal change Kafka's
internal topics. This module must not know who is a super user, nor how a finding is shown.
"""

from __future__ import annotations

from typing import Final

from authorizer.trace import is_allow, reaches
from metalog.acl import CLUSTER_NAME, WILDCARD, Acl, Operation, ResourceType, matches_several_names

INTERNAL_TOPICS: Final = (
    "__cluster_metadata",
    "__consumer_offsets",
    "__share_group_state",
    "__transaction_state",
)
_CHANGES: Final = (Operation.ALL, Operation.WRITE, Operation.DELETE, Operation.ALTER)
_THE_CLUSTER: Final = (ResourceType.CLUSTER, CLUSTER_NAME)
_ON_THE_CLUSTER: Final = {
    Operation.ALL: "it may do anything to the cluster, and so give itself anything",
    Operation.ALTER: "it may change all ACLs and anybody's password, and so become anyone",
    Operation.CLUSTER_ACTION: "it may act as a broker: read every partition, and forward "
    "requests in anybody's name",
    Operation.ALTER_CONFIGS: "it may change the brokers' configuration",
}


def power(acl: Acl) -> str | None:
    """The power that ``acl`` gives, in words; None for an ordinary grant."""
    if not is_allow(acl):
        return None
    if acl.resource_type is ResourceType.USER:
        if acl.operation in (Operation.ALL, Operation.CREATE_TOKENS) and matches_several_names(acl):
            return "it may make delegation tokens in the name of others"
        return None
    if acl.resource_type is not ResourceType.CLUSTER or acl.operation not in _ON_THE_CLUSTER:
        return None
    return _ON_THE_CLUSTER[acl.operation] if reaches(acl, *_THE_CLUSTER) else None


def internal_topics(acl: Acl) -> tuple[str, ...]:
    """The internal topics that ``acl`` lets its principal change, by name or prefix."""
    if acl.operation not in _CHANGES or not is_allow(acl) or acl.resource_name in ("", WILDCARD):
        return ()
    return tuple(each for each in INTERNAL_TOPICS if reaches(acl, ResourceType.TOPIC, each))


def danger(acl: Acl) -> str | None:
    """Why it is dangerous to add ``acl``, in words; None for an ordinary grant."""
    if internal_topics(acl):
        return "it may change topics that Kafka keeps for itself, and so forge what they hold"
    return power(acl)

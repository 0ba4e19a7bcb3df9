"""Who may change the topics that Kafka keeps for itself."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.insight.lint.finding import Check, Finding, Severity, Subject
from authorizer.trace import is_allow, reaches
from metalog.acl import WILDCARD, Operation, ResourceType

INTERNAL = (
    "__cluster_metadata",
    "__consumer_offsets",
    "__share_group_state",
    "__transaction_state",
)
_CHANGES = frozenset({Operation.ALL, Operation.WRITE, Operation.DELETE, Operation.ALTER})


def _find(subject: Subject) -> Iterator[Finding]:
    for acl in subject.acls:
        if acl.operation not in _CHANGES or not is_allow(acl) or acl.resource_name == WILDCARD:
            continue
        reached = [name for name in INTERNAL if reaches(acl, ResourceType.TOPIC, name)]
        if reached and acl.resource_name:
            yield Finding(
                Severity.ERROR,
                f"it reaches {', '.join(reached)}, which Kafka keeps for itself",
                acl,
                remove=(acl,),
            )


CHECK = Check("internal-topic", "A principal may change Kafka's own topics.", _find)

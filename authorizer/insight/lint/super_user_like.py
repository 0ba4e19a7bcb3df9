"""Who may make themselves whatever they like, without being called a super user."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.insight.lint.finding import Check, Finding, Severity, Subject
from authorizer.trace import is_allow, reaches
from metalog.acl import CLUSTER_NAME, Acl, Operation, PatternType, ResourceType

_ON_THE_CLUSTER = {
    Operation.ALL: "it may do anything to the cluster, and so give itself anything",
    Operation.ALTER: "it may change all ACLs and anybody's password, and so become anyone",
    Operation.CLUSTER_ACTION: "it may act as a broker: read every partition, and forward "
    "requests in anybody's name",
    Operation.ALTER_CONFIGS: "it may change the brokers' configuration",
}


def _find(subject: Subject) -> Iterator[Finding]:
    for acl in subject.acls:
        if is_allow(acl) and acl.principal not in subject.config.super_users:
            said = _power(acl)
            if said is not None:
                yield Finding(Severity.WARNING, said, acl)


def _power(acl: Acl) -> str | None:
    if acl.resource_type is ResourceType.USER:
        if acl.operation in (Operation.ALL, Operation.CREATE_TOKENS) and _is_on_many(acl):
            return "it may make delegation tokens in the name of others"
        return None
    if acl.resource_type is not ResourceType.CLUSTER or acl.operation not in _ON_THE_CLUSTER:
        return None
    return _ON_THE_CLUSTER[acl.operation] if reaches(acl, *_THE_CLUSTER) else None


_THE_CLUSTER = (ResourceType.CLUSTER, CLUSTER_NAME)


def _is_on_many(acl: Acl) -> bool:
    return acl.pattern_type is not PatternType.LITERAL or acl.resource_name == "*"


CHECK = Check("super-user-like", "As good as a super user.", _find)

"""An ACL on another cluster's name than ``kafka-cluster``, the only name that Kafka uses."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from authorizer.trace import reaches
from metalog.acl import CLUSTER_NAME, PatternType, ResourceType


def _find(subject: LintSubject) -> Iterator[Finding]:
    for acl in subject.acls:
        if acl.resource_type is ResourceType.CLUSTER and not reaches(
            acl, ResourceType.CLUSTER, CLUSTER_NAME
        ):
            mended = acl._replace(resource_name=CLUSTER_NAME, pattern_type=PatternType.LITERAL)
            yield Finding(
                Severity.ERROR,
                f"the cluster's only name is {CLUSTER_NAME}, so it matches nothing",
                acl,
                remove=(acl,),
                add=(mended,),
                advice="kafka-acls cannot remove it; metalog apply --prune can",
            )


CHECK = Check("cluster-name", "An ACL on a cluster that is not kafka-cluster.", _find)

"""A DENY on ``*``, which does not reach longer names that begin with ``*``."""

from __future__ import annotations

from collections.abc import Iterator

from authorizer.analysis.access.coverage import Allowed, Coverage
from authorizer.analysis.lint.finding import Check, Finding, LintSubject, Severity
from authorizer.trace import is_allow
from metalog.acl import WILDCARD, Acl, Operation, PatternType, ResourceType


def _find(subject: LintSubject) -> Iterator[Finding]:
    kafka = subject.config.kafka
    denied = Coverage((acl for acl in subject.acls if not is_allow(acl)), kafka)
    wildcards = {
        acl: missing
        for acl in subject.acls
        if _denies_all_names(acl)
        and not _is_stated(missing := acl._replace(pattern_type=PatternType.PREFIXED), denied)
    }
    candidates = (acl for acl in subject.acls if is_allow(acl) and _may_be_on_stars(acl))
    allowed = Allowed(candidates, wildcards.values(), kafka)
    for acl, missing in wildcards.items():
        if subject.config.allow_everyone or allowed.meet(missing):
            yield Finding(
                Severity.WARNING,
                "Kafka's * does not reach longer names that begin with * themselves, and those "
                "are allowed",
                acl,
                add=(missing,),
            )


def _denies_all_names(acl: Acl) -> bool:
    """Whether ``acl`` denies all names, of a type whose names may begin with a star."""
    return (
        acl.resource_name == WILDCARD
        and acl.pattern_type is PatternType.LITERAL
        and not is_allow(acl)
        and acl.resource_type not in (ResourceType.TOPIC, ResourceType.CLUSTER)
    )


def _is_stated(acl: Acl, denied: Coverage) -> bool:
    return any(each.operation in (Operation.ALL, acl.operation) for each in denied.covering(acl))


def _may_be_on_stars(acl: Acl) -> bool:
    if acl.pattern_type is PatternType.LITERAL:
        return acl.resource_name.startswith(WILDCARD) and acl.resource_name != WILDCARD
    return acl.resource_name.startswith(WILDCARD) or not acl.resource_name


CHECK = Check("deny-misses-star", "A DENY on * that does not match names beginning with *.", _find)

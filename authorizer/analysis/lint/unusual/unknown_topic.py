"""An ACL on a topic that does not exist."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from authorizer.analysis.explain.names import nearest_name
from authorizer.analysis.lint.finding import Check, CheckInput, Finding, LintSubject, Severity
from metalog.acl import WILDCARD, PatternType, ResourceType

_COMPARED = 20
"""How many names get a near match: each search costs some milliseconds."""


def _find(subject: LintSubject) -> Iterator[Finding]:
    topics = set(subject.topics or ())
    order = sorted(topics)
    near: dict[str, str | None] = {}
    for acl in subject.acls:
        name = acl.resource_name
        if acl.resource_type is not ResourceType.TOPIC or name == WILDCARD:
            continue
        if acl.pattern_type is not PatternType.LITERAL:
            at = bisect_left(order, name)
            if at == len(order) or not order[at].startswith(name):
                yield Finding(Severity.INFO, "no topic's name begins with it", acl)
        elif name not in topics:
            if name not in near:
                near[name] = nearest_name(name, topics) if len(near) < _COMPARED else None
            message = "there is no such topic; when somebody creates it, this ACL applies"
            similar = near[name]
            if similar is None:
                yield Finding(Severity.INFO, message, acl)
            else:
                yield Finding(Severity.WARNING, f"{message}; there is a topic {similar}", acl)


CHECK = Check("unknown-topic", "An ACL on a topic that does not exist.", _find, CheckInput.TOPICS)

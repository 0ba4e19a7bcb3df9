"""A prefix that ends inside a word, and so reaches more topics than it seems to."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice, takewhile

from authorizer.analysis.lint.finding import Check, CheckInput, Finding, LintSubject, Severity
from metalog.acl import PatternType, ResourceType

_LOOKED_AT = 1_000


def _find(subject: LintSubject) -> Iterator[Finding]:
    topics = sorted(subject.topics or ())
    messages: dict[str, str | None] = {}
    for acl in subject.acls:
        if acl.resource_type is not ResourceType.TOPIC:
            continue
        if acl.pattern_type is PatternType.LITERAL or not acl.resource_name[-1:].isalnum():
            continue
        prefix = acl.resource_name
        if prefix not in messages:
            messages[prefix] = _text(prefix, topics)
        message = messages[prefix]
        if message is not None:
            yield Finding(
                Severity.WARNING,
                message,
                acl,
                advice="end the prefix with a separator, or make the ACL LITERAL",
            )


def _text(prefix: str, topics: list[str]) -> str | None:
    reached = takewhile(
        lambda name: name.startswith(prefix), islice(topics, bisect_left(topics, prefix), None)
    )
    matched = list(islice(reached, _LOOKED_AT))
    others = [name for name in matched if name != prefix]
    inside = [name for name in others if name[len(prefix)].isalnum()]
    if inside:
        return f"its prefix ends inside a word: it reaches {inside[0]} too"
    if others and len(others) < len(matched):
        return f"its prefix is a topic's whole name: it reaches {others[0]} too"
    return None


CHECK = Check(
    "open-ended-prefix", "A prefix without a separator at its end.", _find, CheckInput.TOPICS
)

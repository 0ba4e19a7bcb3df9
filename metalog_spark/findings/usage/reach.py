"""On how many of the known names some ACLs allow an operation: sorted names, and intervals.

A pattern reaches one stretch of names in order, so that thousands of ACLs over hundreds of
thousands of names cost a bisect each. What is allowed from some host counts as
allowed. This module must not know Spark.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from authorizer.engine.decide import concerns
from authorizer.trace import is_allow
from metalog.acl import SUPPORTED_OPERATIONS, WILDCARD, Acl, Operation, PatternType, ResourceType
from metalog_spark.findings.usage.minimal_cover import Names, after

Stretch = tuple[int, int]
"""The places in the names from the first number on, before the second."""


def allowed_pairs(acls: Iterable[Acl], names: Names) -> int:
    """How many pairs of a known name and an operation that Kafka asks for there ``acls``, all
    of which mean one principal, allow: DENYs are taken off."""
    by_type: dict[ResourceType, list[Acl]] = {}
    for acl in acls:
        by_type.setdefault(acl.resource_type, []).append(acl)
    return sum(
        _on_type(found, names.get(kind, ()), operation)
        for kind, found in by_type.items()
        for operation in SUPPORTED_OPERATIONS.get(kind, ())
    )


def _on_type(acls: Iterable[Acl], names: Sequence[str], operation: Operation) -> int:
    allowed: list[Stretch] = []
    denied: list[Stretch] = []
    for acl in acls:
        if concerns(acl, operation):
            if is_allow(acl):
                allowed += stretches(acl, names)
            elif acl.host == WILDCARD:
                denied += stretches(acl, names)
    return _length(allowed + denied) - _length(denied)


def stretches(acl: Acl, names: Sequence[str]) -> list[Stretch]:
    """What of ``names``, in order, the pattern reaches. LITERAL ``*`` skips the longer names
    that begin with it."""
    name = acl.resource_name
    if acl.pattern_type is not PatternType.LITERAL:
        return [(bisect_left(names, name), after(name, names))]
    start = bisect_left(names, name)
    itself = start + (names[start : start + 1] == [name])
    if name == WILDCARD:
        return [(0, itself), (after(WILDCARD, names), len(names))]
    return [(start, itself)]


def _length(stretches: list[Stretch]) -> int:
    """Of all of them together, each place once."""
    total = reached = 0
    for start, end in sorted(stretches):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total

"""Counts the known names on which ACLs allow an operation, by intervals of sorted names.

A pattern matches one interval of the sorted names (``*`` two), so thousands of ACLs over hundreds
of thousands of names cost only one bisection each. An operation allowed from some host counts as
allowed. This module must not know Spark.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from authorizer.engine.decide import concerns
from authorizer.trace import is_allow
from metalog.acl import SUPPORTED_OPERATIONS, WILDCARD, Acl, Operation, PatternType, ResourceType
from metalog_spark.findings.usage.minimal_cover import Names, after

NameInterval = tuple[int, int]
"""An interval of indexes of names: start, and end (exclusive)."""


def allowed_pairs(acls: Iterable[Acl], names: Names) -> int:
    """How many pairs of a known name and an operation ``acls`` allow. All ACLs are for one
    principal; DENYs are subtracted, and only operations that Kafka supports on the type count."""
    by_type: dict[ResourceType, list[Acl]] = {}
    for acl in acls:
        by_type.setdefault(acl.resource_type, []).append(acl)
    return sum(
        _on_type(found, names.get(kind, ()), operation)
        for kind, found in by_type.items()
        for operation in SUPPORTED_OPERATIONS.get(kind, ())
    )


def _on_type(acls: Iterable[Acl], names: Sequence[str], operation: Operation) -> int:
    allowed: list[NameInterval] = []
    denied: list[NameInterval] = []
    for acl in acls:
        if concerns(acl, operation):
            if is_allow(acl):
                allowed += intervals(acl, names)
            elif acl.host == WILDCARD:
                denied += intervals(acl, names)
    return _length(allowed + denied) - _length(denied)


def intervals(acl: Acl, names: Sequence[str]) -> list[NameInterval]:
    """The intervals of the sorted ``names`` that the pattern matches. LITERAL ``*`` does not match
    longer names that begin with ``*``."""
    name = acl.resource_name
    if acl.pattern_type is not PatternType.LITERAL:
        return [(bisect_left(names, name), after(name, names))]
    start = bisect_left(names, name)
    itself = start + (names[start : start + 1] == [name])
    if name == WILDCARD:
        return [(0, itself), (after(WILDCARD, names), len(names))]
    return [(start, itself)]


def _length(intervals: list[NameInterval]) -> int:
    """The total length of all, each index counted once."""
    total = reached = 0
    for start, end in sorted(intervals):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total

"""Counts the pairs of a known name and an operation that ACLs allow.

A pattern matches intervals of sorted names. So this module needs only the number of known names
before each edge of an interval. An operation that is allowed from at least one host counts as
allowed. This module must not know Spark.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from authorizer.engine.decide import concerns
from authorizer.trace import is_allow
from metalog.acl import SUPPORTED_OPERATIONS, WILDCARD, Acl, Operation, PatternType, ResourceType
from metalog.grouping import grouped

NameInterval = tuple[str, str | None]
"""The first text of an interval, and its end (exclusive); None if the interval has no end."""
Ranks = Mapping[str | None, int]
"""For each edge: how many known names of a resource type sort before the edge. None is the end."""
_LAST = "\U0010ffff"


def allowed_pairs(acls: Iterable[Acl], ranks: Mapping[ResourceType, Ranks]) -> int:
    """How many pairs the ``acls`` of one principal allow. DENYs for all hosts are subtracted.
    Operations that Kafka does not support on the type are ignored."""
    by_type = grouped(acls, lambda acl: acl.resource_type)
    return sum(
        _on_type(own, ranks[kind], operation)
        for kind, own in by_type.items()
        if kind in ranks
        for operation in SUPPORTED_OPERATIONS.get(kind, ())
    )


def _on_type(acls: Iterable[Acl], ranks: Ranks, operation: Operation) -> int:
    allowed: list[NameInterval] = []
    denied: list[NameInterval] = []
    for acl in acls:
        if concerns(acl, operation):
            if is_allow(acl):
                allowed += intervals(acl)
            elif acl.host == WILDCARD:
                denied += intervals(acl)
    if not allowed:
        return 0
    return _length(allowed + denied, ranks) - _length(denied, ranks)


def intervals(acl: Acl) -> list[NameInterval]:
    """The intervals of texts that the pattern matches. LITERAL ``*`` does not match longer names
    that begin with ``*``."""
    name = acl.resource_name
    if acl.pattern_type is not PatternType.LITERAL:
        return [(name, _after_all(name))]
    if name == WILDCARD:
        return [("", _next_text(name)), (_after_all(name) or "", None)]
    return [(name, _next_text(name))]


def _next_text(text: str) -> str:
    return text + "\0"


def _after_all(prefix: str) -> str | None:
    """The first text that sorts after all texts that begin with ``prefix``, or None."""
    kept = prefix.rstrip(_LAST)
    return kept[:-1] + chr(ord(kept[-1]) + 1) if kept else None


def edges_of(acls: Iterable[Acl]) -> dict[ResourceType, list[str]]:
    """The edges of all intervals of ``acls``, by type, sorted."""
    edges: dict[ResourceType, set[str]] = {}
    for acl in acls:
        texts = edges.setdefault(acl.resource_type, set())
        texts.update(edge for interval in intervals(acl) for edge in interval if edge is not None)
    return {kind: sorted(texts) for kind, texts in edges.items()}


def places(names: Iterable[str], edges: Sequence[str]) -> Counter[int]:
    """Count ``names`` by place. A name's place is the number of ``edges`` up to the name."""
    return Counter(bisect_right(edges, name) for name in names)


def ranked(edges: Sequence[str], counts: Mapping[int, int]) -> Ranks:
    """The ranks of ``edges``. ``counts`` is the result of ``places`` for all known names."""
    ranks: dict[str | None, int] = {}
    before = 0
    for place, edge in enumerate((*edges, None)):
        before += counts.get(place, 0)
        ranks[edge] = before
    return ranks


def _length(intervals: Iterable[NameInterval], ranks: Ranks) -> int:
    total = reached = 0
    for start, end in sorted((ranks[start], ranks[end]) for start, end in intervals):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total

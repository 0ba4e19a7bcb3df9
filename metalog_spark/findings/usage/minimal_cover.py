"""The rules of the minimal cover: few ALLOWs for a principal's requests.

- A proposed ALLOW is LITERAL, or PREFIXED for enough names under a prefix. The prefix ends at a
  separator.
- The operation of a proposed ALLOW is not ALL. Its name is not ``*``.
- A proposed ALLOW allows nothing that is denied today.
- If no such ALLOW can express a request, one of today's ALLOWs for the request stays.

The shortest sufficient prefixes replace the most LITERAL ALLOWs, because prefixes that end at
separators are nested or disjoint. The cover is not always the smallest, because ``staying`` chooses
ALLOWs one by one. This module must not know Spark or its tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final, NamedTuple

from authorizer.analysis.access.coverage import Coverage
from authorizer.engine.decide import concerns, subject
from authorizer.engine.index import AclIndex
from authorizer.kafka_version import KafkaVersion
from metalog.acl import (
    IMPLIED_BY,
    WILDCARD,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from metalog.controller.acl import why_not

PREFIX_FROM: Final = 3
PREFIXED_TYPES: Final = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
IMPLIED_BY_NONE: Final = frozenset(Operation) - frozenset(IMPLIED_BY)
"""The operations that no other operation implies."""
_SEPARATOR: Final = re.compile(r"[._-]")


class CoverLimits(NamedTuple):
    """``prefix_from``: a prefix needs at least this many names; 0 means no prefixes. ``slack``: the
    accepted share of unused names among the known names under a prefix."""

    prefix_from: int = PREFIX_FROM
    slack: float = 0.0

    def suffice(self, wanted: int, used: int, known: int) -> bool:
        """Whether a PREFIXED ALLOW for one operation is justified. ``known`` counts the known
        names under the prefix, ``used`` those on which the principal used the operation, and
        ``wanted`` those that still need an ALLOW."""
        return 0 < self.prefix_from <= wanted and known - used <= self.slack * known


USUAL: Final = CoverLimits()


class Needs(NamedTuple):
    """The operations that a principal used on one name. ``host`` is the host for new ALLOWs."""

    principal: str
    host: str
    resource_type: ResourceType
    name: str
    operations: frozenset[Operation]

    def literal(self, operation: Operation) -> Acl:
        kind, name = self.resource_type, self.name
        how, allow = PatternType.LITERAL, PermissionType.ALLOW
        return Acl(kind, name, how, self.principal, self.host, operation, allow)

    def prefixed(self, operation: Operation, prefix: str) -> Acl:
        named = self.literal(operation)
        return named._replace(resource_name=prefix, pattern_type=PatternType.PREFIXED)

    def has_done(self, operation: Operation) -> bool:
        """Whether the principal used ``operation``, or an operation that implies it."""
        return not self.operations.isdisjoint(allowing(operation))


class Cover:
    """Decides which ALLOWs may be proposed, and which operations need an ALLOW. ``today`` are all
    ALLOWs of today. ``kept`` are the ALLOWs that stay or are already chosen."""

    def __init__(self, today: Iterable[Acl], kept: Iterable[Acl], kafka: KafkaVersion) -> None:
        self._today = today
        self._kept = AclIndex.of(kept)
        self._kafka = kafka

    @cached_property
    def _coverage(self) -> Coverage:
        return Coverage(self._today, self._kafka)

    def is_within_today(self, acl: Acl) -> bool:
        """Whether Kafka accepts ``acl``, and one of today's ALLOWs allows all that ``acl``
        allows."""
        operation = acl.operation
        return not why_not(acl) and any(
            concerns(allow, operation) for allow in self._coverage.covering(acl)
        )

    def needed(self, needs: Needs) -> Iterator[Operation]:
        """The operations in ``needs`` that no other operation in ``needs`` implies, and that no
        ALLOW in ``kept`` allows."""
        who = subject(needs.host, needs.principal, kafka=self._kafka)
        for operation in needs.operations:
            implying = IMPLIED_BY.get(operation, frozenset())
            if needs.operations.isdisjoint(implying) and not self._kept.matching(
                who, operation, needs.resource_type, needs.name
            ):
                yield operation


def allowing(operation: Operation) -> frozenset[Operation]:
    """``operation``, and all operations that imply it."""
    return IMPLIED_BY.get(operation, frozenset()) | {operation}


def prefixes(name: str) -> list[str]:
    """The beginnings of ``name`` that end at a separator, the shortest first."""
    return [name[: separator.end()] for separator in _SEPARATOR.finditer(name)]


def is_expressible(acl: Acl) -> bool:
    """Whether the LITERAL ``acl`` may be proposed."""
    is_wide = acl.resource_name == WILDCARD or acl.operation is Operation.ALL
    return not is_wide and not why_not(acl)


def staying(alternatives: Iterable[frozenset[Acl]], kept: Iterable[Acl]) -> list[Acl]:
    """ALLOWs of today to keep in addition to ``kept``, so that one of each set stays.

    A set in ``alternatives`` has today's ALLOWs for a request that no proposed ALLOW can express.
    """
    stay = set(kept)
    staying_acls = []
    for allows in sorted(alternatives, key=lambda allows: (len(allows), sorted(allows))):
        if allows and stay.isdisjoint(allows):
            staying_acls.append(min(allows))
            stay.add(min(allows))
    return staying_acls

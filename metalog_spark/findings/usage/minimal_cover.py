"""The minimal cover: the fewest ALLOWs for a principal's requests, within its grants of today.

A proposed ALLOW is a literal one for one name and operation, or a PREFIXED one for enough names
with a common prefix that ends at a separator. It is not for ALL or ``*``, and it allows nothing
that is denied today. If no such ALLOW can express a request, one of today's ALLOWs for it stays.
Two prefixes that end at separators are either nested or disjoint, so choosing the shortest
sufficient ones gives the smallest cover.

These are the rules for one name and for one prefix; ``cover_job`` counts names and applies them.
This module must not know Spark, nor where the requests come from.
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
"""How many names under one prefix justify a PREFIXED ALLOW."""
PREFIXED_TYPES: Final = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
IMPLYING: Final = frozenset(Operation) - frozenset(IMPLIED_BY)
"""The operations that no other implies."""
_SEPARATOR: Final = re.compile(r"[._-]")


class CoverLimits(NamedTuple):
    """``prefix_from``: how many names justify a prefix; 0 means no prefixes. ``slack``: the share
    of unused names that is accepted among the known names under a prefix."""

    prefix_from: int = PREFIX_FROM
    slack: float = 0.0

    def suffice(self, wanted: int, used: int, known: int) -> bool:
        """Whether the names under a prefix justify the prefix. ``wanted``: how many names still
        need an ALLOW for the operation; ``used``: on how many the principal did it; ``known``:
        how many names there are known, of all principals."""
        return 0 < self.prefix_from <= wanted and known - used <= self.slack * known


USUAL: Final = CoverLimits()


class Needs(NamedTuple):
    """The operations that a principal did on one name. ``host`` is the client's if only ALLOWs for
    some hosts allow the operations, else ``*``."""

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
        """Whether the principal did ``operation``, or one that implies it."""
        return not self.operations.isdisjoint(allowing(operation))


class Cover:
    """Decides which prefixes may be proposed, and which operations need an ALLOW. ``today`` are all
    ALLOWs of today. ``kept`` are the ALLOWs that stay and the prefixes that are already chosen."""

    def __init__(self, today: Iterable[Acl], kept: Iterable[Acl], kafka: KafkaVersion) -> None:
        self._today = today
        self._kept = AclIndex.of(kept)
        self._kafka = kafka

    @cached_property
    def _coverage(self) -> Coverage:
        return Coverage(self._today, self._kafka)

    def is_within_today(self, acl: Acl) -> bool:
        """Whether Kafka accepts ``acl``, and one of today's ALLOWs allows all that it would."""
        operation = acl.operation
        return not why_not(acl) and any(
            concerns(allow, operation) for allow in self._coverage.covering(acl)
        )

    def needed(self, needs: Needs) -> Iterator[Operation]:
        """The operations that need an ALLOW: no other operation of ``needs`` implies them, and no
        ``kept`` ALLOW allows them."""
        who = subject(needs.host, needs.principal, kafka=self._kafka)
        for operation in needs.operations:
            implying = IMPLIED_BY.get(operation, frozenset())
            if needs.operations.isdisjoint(implying) and not self._kept.matching(
                who, operation, needs.resource_type, needs.name
            ):
                yield operation


def allowing(operation: Operation) -> frozenset[Operation]:
    """``operation``, and those that imply it."""
    return IMPLIED_BY.get(operation, frozenset()) | {operation}


def prefixes(name: str) -> list[str]:
    """The beginnings of ``name`` that end at a separator, the shortest first."""
    return [name[: separator.end()] for separator in _SEPARATOR.finditer(name)]


def is_expressible(acl: Acl) -> bool:
    """Whether the LITERAL ``acl`` may be proposed: Kafka accepts it, and it allows one operation on
    its name alone. ``*`` matches all names."""
    is_wide = acl.resource_name == WILDCARD or acl.operation is Operation.ALL
    return not is_wide and not why_not(acl)


def staying(inexpressible: Iterable[frozenset[Acl]], kept: Iterable[Acl]) -> list[Acl]:
    """The ALLOWs of today that must stay beside those ``kept``, so that of each set in
    ``inexpressible`` at least one stays."""
    stay = set(kept)
    staying_acls = []
    for allows in sorted(inexpressible, key=lambda allows: (len(allows), sorted(allows))):
        if allows and stay.isdisjoint(allows):
            staying_acls.append(min(allows))
            stay.add(min(allows))
    return staying_acls

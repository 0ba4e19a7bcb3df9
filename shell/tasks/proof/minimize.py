"""Finds a smaller set of ACLs with the same meaning, the steps to it, and the work that Kafka
saves.

This module must not know where ACLs come from, nor how the steps are shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from authorizer.analysis.cells.minimize import minimal_set
from authorizer.analysis.lint.unusual import idle, redundant_acls
from authorizer.analysis.lint.without_effect import overridden
from authorizer.engine.index import AclIndex
from metalog.acl import Acl, PermissionType, ResourceType
from metalog_sources.formats.document import is_owned
from metalog_sources.targets.plan import ChangeKind, PlanStep, phases

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from metalog_sources.formats.document import Own


_TOPIC_US: Final = 1.4
_ACL_US: Final = 0.2
"""Kafka 4.3.1's time in microseconds for a topic of a Metadata request, and for each ACL that
reaches the topic. docs/performance/metadata-requests.md has the measurement."""


class KeptAcls(NamedTuple):
    """``denies`` keeps all DENYs. ``owns`` keeps the ACLs that the files own. No new prefix has
    fewer than ``shortest_prefix`` characters."""

    denies: bool
    owns: tuple[Own, ...]
    shortest_prefix: int


class Minimized(NamedTuple):
    """The smaller set of ACLs, and the steps to this set. ``matching`` is the number of ACLs that
    Kafka checks for a Metadata request for all topics, before and after the steps."""

    steps: tuple[PlanStep, ...]
    acls: frozenset[Acl]
    count_before: int
    cells: int
    topics: int
    matching: tuple[int, int]

    @property
    def kafka_us(self) -> tuple[float, float]:
        """Kafka's approximate time for such a request in microseconds, before and after."""
        before, after = (_TOPIC_US * self.topics + _ACL_US * acls for acls in self.matching)
        return before, after


def minimized(
    acls: Collection[Acl], config: AuthorizerConfig, keep: KeptAcls, topics: Collection[str]
) -> Minimized:
    before = frozenset(acls)
    kept = [acl for acl in before if _is_kept(acl, keep)]
    smaller = minimal_set(before, config, kept, keep.shortest_prefix, _candidates(before, config))
    after = before.difference(smaller.removed).union(smaller.added)
    steps = [PlanStep(ChangeKind.ADD, acl) for acl in smaller.added]
    steps += [PlanStep(ChangeKind.REMOVE, acl) for acl in smaller.removed]
    ordered = tuple(step for phase in phases(steps) for step in phase)
    matching = _matching(before, topics), _matching(after, topics)
    return Minimized(ordered, after, len(before), smaller.cells, len(topics), matching)


def _candidates(acls: Iterable[Acl], config: AuthorizerConfig) -> Iterator[Collection[Acl]]:
    listed, kafka = tuple(sorted(acls)), config.kafka
    yield {acl for acl, _ in redundant_acls(listed, kafka)}
    yield {acl for acl, _ in overridden(listed, kafka)}
    if not config.allow_everyone:
        yield set(idle(listed, kafka))


def _is_kept(acl: Acl, keep: KeptAcls) -> bool:
    is_deny = acl.permission_type is not PermissionType.ALLOW
    return (keep.denies and is_deny) or is_owned(acl, keep.owns)


def _matching(acls: Iterable[Acl], topics: Iterable[str]) -> int:
    index = AclIndex.of(acls)
    return sum(
        bucket.size
        for name in topics
        for bucket in index.buckets_matching(ResourceType.TOPIC, name)
    )

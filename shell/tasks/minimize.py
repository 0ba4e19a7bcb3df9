"""Finds a smaller set of ACLs that means the same: the steps, and the work that Kafka saves.

This module must not know where ACLs come from, nor how the steps are shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from authorizer.analysis.cells.minimize import minimal_set
from authorizer.engine.index import AclIndex
from metalog.acl import Acl, PermissionType, ResourceType
from metalog_sources.formats.document import is_owned
from metalog_sources.targets.plan import ChangeKind, PlanStep, phases

if TYPE_CHECKING:
    from authorizer.config import AuthorizerConfig
    from metalog_sources.formats.document import Own


class KeptAcls(NamedTuple):
    """ACLs to keep: ``denies`` keeps all DENYs, ``owns`` those that the files own. No prefix
    becomes shorter than ``shortest_prefix``."""

    denies: bool
    owns: tuple[Own, ...]
    shortest_prefix: int


class Minimized(NamedTuple):
    """The smaller set and the steps to it. ``reaching`` are, before and after, how many ACLs match
    the existing topics, summed over the topics: Kafka checks them for a Metadata request."""

    steps: tuple[PlanStep, ...]
    acls: frozenset[Acl]
    before: int
    cells: int
    topics: int
    reaching: tuple[int, int]


def minimized(
    acls: Collection[Acl], config: AuthorizerConfig, keep: KeptAcls, topics: Collection[str]
) -> Minimized:
    before = frozenset(acls)
    kept = [acl for acl in before if _is_kept(acl, keep)]
    found = minimal_set(before, config, kept, keep.shortest_prefix)
    after = before.difference(found.removed).union(found.added)
    steps = [PlanStep(ChangeKind.ADD, acl) for acl in found.added]
    steps += [PlanStep(ChangeKind.REMOVE, acl) for acl in found.removed]
    ordered = tuple(step for phase in phases(steps) for step in phase)
    reaching = _reaching(before, topics), _reaching(after, topics)
    return Minimized(ordered, after, len(before), found.cells, len(topics), reaching)


def _is_kept(acl: Acl, keep: KeptAcls) -> bool:
    is_deny = acl.permission_type is not PermissionType.ALLOW
    return (keep.denies and is_deny) or is_owned(acl, keep.owns)


def _reaching(acls: Iterable[Acl], topics: Iterable[str]) -> int:
    index = AclIndex.of(acls)
    return sum(
        len(bucket) for name in topics for bucket in index.reaching(ResourceType.TOPIC, name)
    )

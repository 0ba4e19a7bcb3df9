"""Finds a smaller set of ACLs that is proven equivalent.

The search removes and joins ACLs step by step, and keeps a step only if no decision changes in any
cell. At the end it compares the result with the original set. This module must not know where ACLs
come from, nor apply the result.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator
from functools import reduce
from typing import Final, NamedTuple

from authorizer.analysis.cells.difference import SetComparison, without_cells
from authorizer.analysis.cells.sessions import checked_operations
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import ALLOWS, DENIES
from authorizer.engine.prefixes import common_prefix_length
from authorizer.trace import is_allow
from metalog.acl import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    ResourceType,
    is_wildcard,
    matches_several_names,
)
from metalog.grouping import grouped

_LITERAL: Final = PatternType.LITERAL


class MinimalSet(NamedTuple):
    removed: tuple[Acl, ...]
    added: tuple[Acl, ...]
    cells: int


def minimal_set(
    acls: Collection[Acl],
    config: AuthorizerConfig,
    kept: Collection[Acl] = (),
    shortest_prefix: int = 1,
    candidates: Iterable[Collection[Acl]] = (),
) -> MinimalSet:
    """A smaller set that contains ``kept``. No new prefix is shorter than ``shortest_prefix``.

    The search first tries to remove each group in ``candidates``, as a whole.
    """
    before = frozenset(acls)
    search = _Search(before, config, frozenset(kept))
    for group in candidates:
        search.remove_group(group)
    search.fold_operations()
    search.fold_names(shortest_prefix)
    search.remove_single()
    after = frozenset(search.acls)
    compared = SetComparison(before, after, config)
    if any(compared.differences()) or any(compared.by_type()):
        raise AssertionError("the smaller set is not equivalent")
    return MinimalSet(tuple(sorted(before - after)), tuple(sorted(after - before)), compared.cells)


class _Search:
    def __init__(
        self, acls: frozenset[Acl], config: AuthorizerConfig, kept: frozenset[Acl]
    ) -> None:
        self.acls = set(acls)
        self._config = config
        self._kept = kept
        self._near = _NearAcls(self.acls)

    def remove_group(self, group: Collection[Acl]) -> None:
        removed = self.acls.intersection(group) - self._kept
        if removed:
            self._replace(removed, ())

    def remove_single(self) -> None:
        """Remove ACLs whose removal changes no decision, the narrowest first."""
        for acl in sorted(self.acls - self._kept, key=_narrowest_first):
            self._replace((acl,), ())

    def fold_operations(self) -> None:
        """Replace ACLs that together cover all checked operations by one ACL with ALL."""
        acls = sorted(self.acls - self._kept)
        groups = grouped(acls, lambda acl: acl._replace(operation=Operation.ALL))
        for folded, group in groups.items():
            masks = ALLOWS if is_allow(folded) else DENIES
            decided = 0
            for acl in group:
                decided |= masks[acl.operation]
            if len(group) > 1 and not checked_operations(folded.resource_type) & ~decided:
                self._replace(group, (folded,))

    def fold_names(self, shortest_prefix: int) -> None:
        """Replace literals by their common prefix."""
        groups: dict[Acl, list[Acl]] = {}
        for acl in sorted(self.acls - self._kept):
            if acl.pattern_type is _LITERAL and acl.resource_name != WILDCARD:
                groups.setdefault(acl._replace(resource_name=""), []).append(acl)
        for key, group in groups.items():
            names = (acl.resource_name for acl in group)
            common = reduce(lambda one, other: one[: common_prefix_length(one, other)], names)
            if len(group) > 1 and len(common) >= max(shortest_prefix, 1):
                prefix = key._replace(resource_name=common, pattern_type=PatternType.PREFIXED)
                self._replace(group, (prefix,))

    def _replace(self, removed: Collection[Acl], added: Collection[Acl]) -> None:
        touched = [*removed, *added]
        near = {each for acl in touched for each in self._near.to(acl)} & self.acls
        after = near.difference(removed).union(added)
        compared = SetComparison(near, after, self._config)
        if any(compared.differences()):
            return
        if self._config.allow_everyone and without_cells(near | after):
            # all ACLs matter here: the default rule can decide on the name that Kafka tries first
            then = self.acls.difference(removed).union(added)
            compared = SetComparison(self.acls, then, self._config)
        if any(compared.by_type()):
            return
        self.acls.difference_update(removed)
        self.acls.update(added)
        self._near.add(added)


def _narrowest_first(acl: Acl) -> tuple[object, ...]:
    is_wide = matches_several_names(acl)
    everybody = acl.principal == WILDCARD_PRINCIPAL
    is_all = acl.operation is Operation.ALL
    return is_wide, -len(acl.resource_name), everybody, is_all, acl.host == WILDCARD, acl


class _NearAcls:
    def __init__(self, acls: Iterable[Acl]) -> None:
        self._by_name: dict[tuple[ResourceType, str], list[Acl]] = {}
        self._names: dict[ResourceType, list[str]] = {}
        self.add(sorted(acls))

    def add(self, acls: Iterable[Acl]) -> None:
        for acl in acls:
            key = acl.resource_type, acl.resource_name
            if key not in self._by_name:
                insort(self._names.setdefault(acl.resource_type, []), acl.resource_name)
            self._by_name.setdefault(key, []).append(acl)

    def to(self, acl: Acl) -> Iterator[Acl]:
        """All ACLs that match a name that ``acl`` matches, and possibly other ACLs."""
        kind, name = acl.resource_type, acl.resource_name
        if is_wildcard(acl):
            for each in self._names[kind]:
                yield from self._by_name[kind, each]
            return
        for end in range(len(name)):
            yield from self._by_name.get((kind, name[:end]), ())
        yield from self._by_name.get((kind, WILDCARD), ())
        names = self._names.get(kind, [])
        for at in range(bisect_left(names, name), len(names)):
            if not names[at].startswith(name):
                break
            yield from self._by_name[kind, names[at]]

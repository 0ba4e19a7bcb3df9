"""Lists a principal's permissions: as patterns, and on existing names.

A DENY on all names of a pattern removes the operation. A DENY on only some names of a pattern is
listed as an exception. This module must not know where names come from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from authorizer.analysis.access.allowed_patterns import (
    AllowedPatterns,
    NamesInOrder,
    Operations,
    PatternAccess,
    operations_of,
)
from authorizer.analysis.access.host_regions import HostRegion, host_regions
from authorizer.config import AuthorizerConfig
from authorizer.engine.cache.decision_cache import DecisionContext
from authorizer.engine.cache.session_cache import SessionCache
from authorizer.engine.decide import ALLOWS, DENIES, Masks
from authorizer.engine.index import AclIndex
from authorizer.trace import is_allow
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl, ResourceType
from metalog.grouping import grouped

Names = Mapping[ResourceType, Collection[str]]


class NameAccess(NamedTuple):
    resource_type: ResourceType
    name: str
    operations: Operations


class PrincipalAccess(NamedTuple):
    """A principal's permissions from ``host``; None stands for every host that no ACL names."""

    host: str | None
    patterns: tuple[PatternAccess, ...]
    names: tuple[NameAccess, ...]


def access(
    acls: Collection[Acl],
    config: AuthorizerConfig,
    principal: str,
    names: Names,
    host: str | None = None,
) -> list[PrincipalAccess]:
    """The permissions of ``principal`` from ``host``. ``config.super_users`` is ignored.

    Without ``host``, the first item has the permissions from a host that no ACL names. Each further
    item is for a region of clients, and has only the differences from the next wider region. In
    such an item, a pattern or name without operations has lost all its operations.
    """
    mine = [acl for acl in dict.fromkeys(acls) if acl.principal in (principal, WILDCARD_PRINCIPAL)]
    known = _Names(acls, config, principal, names)
    patterns = AllowedPatterns(mine, config.kafka)
    general = PrincipalAccess(host, tuple(patterns.from_host(host)), tuple(known.from_host(host)))
    if host is not None:
        return [general]
    by_host = grouped(mine, lambda acl: acl.host)
    found = [general]
    for region in host_regions(sorted(by_host), config.kafka):
        matching = [acl for each in region.matching for acl in by_host[each]]
        part = PrincipalAccess(
            region.host,
            tuple(patterns.differing(region, matching)),
            tuple(known.differing(region, matching)),
        )
        if part.patterns or part.names:
            found.append(part)
    return found


class _Names:
    def __init__(
        self, acls: Collection[Acl], config: AuthorizerConfig, principal: str, names: Names
    ) -> None:
        index = AclIndex.of(acls)
        self._decision_context = DecisionContext(
            index, config._replace(super_users=frozenset()), shut_by=""
        )
        self._principal = principal
        self._names = {kind: sorted(known) for kind, known in names.items()}
        self._alike: dict[ResourceType, dict[Masks, NamesInOrder]] = {}
        self._operations_from: dict[str | None, dict[tuple[ResourceType, str], Operations]] = {
            None: {}
        }

    def from_host(self, host: str | None) -> Iterator[NameAccess]:
        for kind, known in self._names.items():
            cache = self._session_cache(kind, host)
            alike: dict[Masks, list[str]] = {}
            for name in known:
                allowed, denied = masks = cache.masks_on(name)
                alike.setdefault(masks, []).append(name)
                operations = operations_of(allowed & ~denied, kind)
                if operations:
                    yield NameAccess(kind, name, operations)
            self._alike[kind] = {masks: NamesInOrder(same) for masks, same in alike.items()}

    def differing(self, region: HostRegion, matching: Iterable[Acl]) -> Iterator[NameAccess]:
        """The names whose permissions differ between ``region`` and the next wider region.

        See ``AllowedPatterns.differing`` for ``matching`` and the order of calls.
        """
        listed = list(matching)
        around = self._operations_from[region.around]
        here = self._operations_from[region.host] = {}
        for kind, alike in self._alike.items():
            cache = self._session_cache(kind, region.client)
            affected: dict[str, int] = {}
            for masks, same in alike.items():
                before = masks[0] & ~masks[1]
                names = {
                    name
                    for acl in listed
                    if acl.resource_type is kind and _changes_result(acl, masks)
                    for name in same.reached_by(acl)
                }
                affected.update(dict.fromkeys(names, before))
            for name in sorted(affected):
                operations = here[kind, name] = operations_of(cache.allowed_on(name), kind)
                if operations != around.get((kind, name), operations_of(affected[name], kind)):
                    yield NameAccess(kind, name, operations)

    def _session_cache(self, kind: ResourceType, host: str | None) -> SessionCache:
        return self._decision_context.session_cache(
            kind, (WILDCARD if host is None else host, self._principal)
        )


def _changes_result(acl: Acl, masks: Masks) -> bool:
    allowed, denied = masks
    if is_allow(acl):
        return bool(ALLOWS[acl.operation] & ~allowed & ~denied)
    return bool(DENIES[acl.operation] & allowed & ~denied)

"""The minimal cover: the fewest ALLOWs for one principal's requests, within its grants of today.

Each is a literal ALLOW for one name and operation, or a PREFIXED one for enough names with a
common prefix that ends at a separator. None is for ALL, for ``*`` or for User:*, and none allows
what today's ALLOWs do not allow, so whatever is denied stays denied. Two prefixes that end at
separators are either nested or disjoint, so choosing the shortest sufficient ones gives the
smallest cover. This module must not know Spark, nor where the requests come from.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from authorizer.analysis.access.coverage import Coverage
from authorizer.engine.decide import ALLOWS, concerns
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

SEPARATORS: Final = frozenset(".-_")
PREFIX_FROM: Final = 3
"""How many names under one prefix justify a PREFIXED ALLOW."""
_PREFIXED_TYPES: Final = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
Names = Mapping[ResourceType, Sequence[str]]


class Did(NamedTuple):
    """An allowed request. ``host`` is ``*`` if an ALLOW from any host allowed it, else the
    client's host. ``by`` is an ALLOW that allows it today; None if the default rule does."""

    operation: Operation
    resource_type: ResourceType
    name: str
    host: str
    by: Acl | None


class CoverLimits(NamedTuple):
    """``prefix_from``: how many names justify a prefix; 0 is never. ``slack``: the share of unused
    names among the known names under a prefix."""

    prefix_from: int = PREFIX_FROM
    slack: float = 0.0


USUAL: Final = CoverLimits()


def least(
    principal: str,
    did: Iterable[Did],
    today: Iterable[Acl],
    kept: Iterable[Acl],
    names: Names,
    limits: CoverLimits,
) -> list[Acl]:
    """The ALLOWs of ``principal`` for everything in ``did``, with the ``kept`` ones.

    ``today`` are the ALLOWs for it, those of User:* too; ``names`` are all known names by type,
    sorted.
    """
    found = dict.fromkeys(kept)
    cover = Coverage(today, KafkaVersion.V4_3)
    groups: dict[tuple[ResourceType, str], dict[Operation, dict[str, Acl | None]]] = {}
    for each in did:
        group = groups.setdefault((each.resource_type, each.host), {})
        group.setdefault(each.operation, {})[each.name] = each.by
    any_host_first = sorted(groups, key=lambda key: (key[0], key[1] != WILDCARD, key[1]))
    for kind, host in any_host_first:
        shape = Acl(kind, "", _LITERAL, principal, host, Operation.ALL, PermissionType.ALLOW)
        part = _Group(shape, groups[kind, host], cover, names.get(kind, ()), limits)
        for acl in part.covered(found):
            found[acl] = None
    return list(found)


_LITERAL: Final = PatternType.LITERAL


class _Group:
    """The requests on resources of one type from one host."""

    def __init__(
        self,
        shape: Acl,
        did: Mapping[Operation, Mapping[str, Acl | None]],
        today: Coverage,
        names: Sequence[str],
        limits: CoverLimits,
    ) -> None:
        self._shape = shape
        self._did = did
        self._today = today
        self._names = names
        self._limits = limits

    def covered(self, given: Iterable[Acl]) -> list[Acl]:
        """ALLOWs for requests that ``given`` do not allow yet. If one of today's ALLOWs must stay,
        it needs no others for what it allows."""
        found = list(self._covering(given))
        stays = [acl for acl in found if acl in self._unsayable]
        return [*stays, *self._covering([*given, *stays])] if stays else found

    @property
    def _unsayable(self) -> set[Acl | None]:
        """Today's ALLOWs for requests that no literal ALLOW can express."""
        return {
            by
            for operation, done in self._did.items()
            for name, by in done.items()
            if not is_expressible(self._literal(operation, name))
        }

    def _literal(self, operation: Operation, name: str) -> Acl:
        return self._shape._replace(resource_name=name, operation=operation)

    def _covering(self, given: Iterable[Acl]) -> Iterator[Acl]:
        """Operations that imply others come first."""
        all_told = list(given)
        for operation in sorted(self._did, key=lambda each: (each in IMPLIED_BY, each)):
            done, index = self._did[operation], AclIndex.of(all_told)
            wanted = sorted(name for name in done if not self._allows(index, operation, name))
            for acl in self._patterns(operation, wanted, done):
                all_told.append(acl)
                yield acl

    def _allows(self, index: AclIndex, operation: Operation, name: str) -> bool:
        hosts = (WILDCARD, self._shape.host)
        return any(
            acl.host in hosts and concerns(acl, operation)
            for bucket in index.buckets_matching(self._shape.resource_type, name)
            for acl in bucket
        )

    def _patterns(
        self, operation: Operation, wanted: Sequence[str], done: Mapping[str, Acl | None]
    ) -> Iterator[Acl]:
        used = sorted(self._done_with(operation))
        known: dict[str, bool] = {}
        written = set()
        for name in wanted:
            prefix = self._prefix_for(operation, name, wanted, used, known)
            if prefix is None:
                acl = self._literal(operation, name)
                expressible = acl if is_expressible(acl) else done[name]
                if expressible is not None:
                    yield expressible
            elif prefix not in written:
                written.add(prefix)
                yield self._prefixed(operation, prefix)

    def _prefix_for(
        self,
        operation: Operation,
        name: str,
        wanted: Sequence[str],
        used: Sequence[str],
        known: dict[str, bool],
    ) -> str | None:
        """The shortest sufficient prefix of ``name``; ``known`` caches the prefixes that were
        checked."""
        if self._shape.resource_type not in _PREFIXED_TYPES or not self._limits.prefix_from:
            return None
        for place, character in enumerate(name, 1):
            if character in SEPARATORS:
                prefix = name[:place]
                if prefix not in known:
                    known[prefix] = self._will_do(operation, prefix, wanted, used)
                if known[prefix]:
                    return prefix
        return None

    def _will_do(
        self, operation: Operation, prefix: str, wanted: Sequence[str], used: Sequence[str]
    ) -> bool:
        if count_under(prefix, wanted) < self._limits.prefix_from:
            return False
        known = count_under(prefix, self._names)
        if known - count_under(prefix, used) > self._limits.slack * known:
            return False
        probe = self._prefixed(operation, prefix)
        return not why_not(probe) and any(
            concerns(acl, operation) for acl in self._today.covering(probe)
        )

    def _prefixed(self, operation: Operation, prefix: str) -> Acl:
        return self._shape._replace(
            resource_name=prefix, pattern_type=PatternType.PREFIXED, operation=operation
        )

    def _done_with(self, operation: Operation) -> set[str]:
        """The names of requests with the operation, or with one that implies it."""
        return {
            name
            for other, done in self._did.items()
            if ALLOWS[other] >> operation & 1
            for name in done
        }


def is_expressible(acl: Acl) -> bool:
    """Whether Kafka accepts the LITERAL ``acl``, and it matches only its name: ``*`` matches all
    names."""
    return acl.resource_name != WILDCARD and not why_not(acl)


def count_under(prefix: str, names: Sequence[str]) -> int:
    """How many of the sorted ``names`` begin with ``prefix``."""
    return after(prefix, names) - bisect_left(names, prefix)


def after(prefix: str, names: Sequence[str]) -> int:
    """The index after the last of the sorted ``names`` that begins with ``prefix``."""
    low, high = bisect_left(names, prefix), len(names)
    while low < high:
        middle = (low + high) // 2
        if names[middle].startswith(prefix):
            low = middle + 1
        else:
            high = middle
    return low

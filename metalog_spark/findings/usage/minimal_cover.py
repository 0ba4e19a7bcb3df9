"""The minimal cover: the fewest ALLOWs for one principal's requests, within its grants of today.

A literal ALLOW for each name and operation, or a PREFIXED one, ending at a separator, for so
many names that share it; never ALL, never ``*``, never User:*, and never anything that today's
ALLOWs do not allow, so that whatever is denied stays denied. Prefixes that end at separators
lie within one another or apart, so taking the shortest that will do is the smallest cover.
This module must not know Spark, nor how it is known what was done.
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
"""So many names under one prefix are worth it."""
_PREFIXED_TYPES: Final = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
Names = Mapping[ResourceType, Sequence[str]]


class Did(NamedTuple):
    """Something that was allowed. ``host`` is ``*`` where an ALLOW from any host allowed it,
    else the client's; ``by`` is an ALLOW that allows it today, None where the default does."""

    operation: Operation
    resource_type: ResourceType
    name: str
    host: str
    by: Acl | None


class CoverLimits(NamedTuple):
    """``prefix_from`` names share a prefix before it is used, 0 is never. ``slack`` is the share
    of the known names under it that may be others than those it is for."""

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
    """The ALLOWs of ``principal`` that allow all it ``did``, ``kept`` ones among them.

    ``today`` are the ALLOWs that mean it, those of User:* too; ``names`` all that are known, in
    order, by type.
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
    """What was done on resources of one type from one host."""

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
        """ALLOWs for what ``given`` do not allow yet. Where one of today's must stay, what else it
        allows needs none of its own."""
        found = list(self._covering(given))
        stays = [acl for acl in found if acl in self._unsayable]
        return [*stays, *self._covering([*given, *stays])] if stays else found

    @property
    def _unsayable(self) -> set[Acl | None]:
        """Those of today's that allow what no literal ALLOW can say."""
        return {
            by
            for operation, done in self._did.items()
            for name, by in done.items()
            if not can_be_said(self._literal(operation, name))
        }

    def _literal(self, operation: Operation, name: str) -> Acl:
        return self._shape._replace(resource_name=name, operation=operation)

    def _covering(self, given: Iterable[Acl]) -> Iterator[Acl]:
        """Those that imply others go first."""
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
            for bucket in index.reaching(self._shape.resource_type, name)
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
                sayable = acl if can_be_said(acl) else done[name]
                if sayable is not None:
                    yield sayable
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
        """The shortest prefix of ``name`` that will do; ``known`` are those looked at."""
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
        """The names on which the operation was done, or one that implies it."""
        return {
            name
            for other, done in self._did.items()
            if ALLOWS[other] >> operation & 1
            for name in done
        }


def can_be_said(acl: Acl) -> bool:
    """Whether Kafka takes a LITERAL ``acl``, and for its one name: ``*`` would be all names."""
    return acl.resource_name != WILDCARD and not why_not(acl)


def count_under(prefix: str, names: Sequence[str]) -> int:
    """How many of ``names``, which are in order, begin with ``prefix``."""
    return after(prefix, names) - bisect_left(names, prefix)


def after(prefix: str, names: Sequence[str]) -> int:
    """The place after the last of ``names``, in order, that begins with ``prefix``."""
    low, high = bisect_left(names, prefix), len(names)
    while low < high:
        middle = (low + high) // 2
        if names[middle].startswith(prefix):
            low = middle + 1
        else:
            high = middle
    return low

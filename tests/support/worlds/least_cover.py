"""The spec of the minimal cover: the ALLOWs of one principal, found with all its names in memory.

It knows only one host and one operation at a time, and counts names by scans of lists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from authorizer.analysis.access.coverage import Coverage
from authorizer.engine.decide import concerns
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import reaches
from metalog.acl import (
    IMPLIED_BY,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from metalog.controller.acl import why_not
from metalog_spark.findings.usage.minimal_cover import CoverLimits, is_expressible, staying

Names = Mapping[ResourceType, Sequence[str]]
PREFIXED_TYPES = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)


class Did(NamedTuple):
    """An allowed request. ``host`` is ``*`` if an ALLOW from any host allowed it, else the
    client's host. ``by`` are today's ALLOWs that allow it, none if the default rule does."""

    operation: Operation
    resource_type: ResourceType
    name: str
    host: str
    by: frozenset[Acl]


def least(
    principal: str,
    did: Sequence[Did],
    today: Iterable[Acl],
    kept: Iterable[Acl],
    names: Names,
    limits: CoverLimits,
) -> list[Acl]:
    """The ALLOWs of ``principal`` for everything in ``did``, with the ``kept`` ones. ``today`` are
    the ALLOWs for it, those of User:* too; ``names`` are all known names by type."""
    mine = {each: _literal(principal, each) for each in did}
    unsayable = (each.by for each, acl in mine.items() if not is_expressible(acl))
    given = [*kept, *staying(unsayable, kept)]
    cover = Coverage(today, KafkaVersion.V4_3)
    found = dict.fromkeys(given)
    for kind, host in sorted({(each.resource_type, each.host) for each in did}):
        own = [acl for acl in mine.values() if (acl.resource_type, acl.host) == (kind, host)]
        sayable = {acl for acl in own if is_expressible(acl)}
        group = _Group(own, cover, names.get(kind, ()), limits)
        found |= dict.fromkeys(group.covering(sayable, given))
    return list(found)


def _literal(principal: str, did: Did) -> Acl:
    kind, how, allow = did.resource_type, PatternType.LITERAL, PermissionType.ALLOW
    return Acl(kind, did.name, how, principal, did.host, did.operation, allow)


class _Group:
    """The requests on resources of one type from one host, as literal ALLOWs."""

    def __init__(
        self, own: Sequence[Acl], today: Coverage, names: Sequence[str], limits: CoverLimits
    ) -> None:
        self._own = own
        self._today = today
        self._names = names
        self._limits = limits

    def covering(self, sayable: Collection[Acl], given: Iterable[Acl]) -> Iterator[Acl]:
        """Operations that imply others come first."""
        found = list(given)
        for operation in sorted(Operation, key=lambda each: (each in IMPLIED_BY, each)):
            mine = [acl for acl in sorted(sayable) if acl.operation is operation]
            wanted = [acl for acl in mine if not any(_allows(each, acl) for each in found)]
            fresh = {self._pattern(acl, [each.resource_name for each in wanted]) for acl in wanted}
            found += fresh
            yield from fresh

    def _pattern(self, acl: Acl, wanted: Sequence[str]) -> Acl:
        """The shortest sufficient prefix of the name, else the name."""
        name = acl.resource_name
        used = {
            each.resource_name
            for each in self._own
            if each.operation in (acl.operation, *IMPLIED_BY.get(acl.operation, ()))
        }
        for place, character in enumerate(name, 1):
            prefixed = acl._replace(resource_name=name[:place], pattern_type=PatternType.PREFIXED)
            if character in ".-_" and self._will_do(prefixed, wanted, used):
                return prefixed
        return acl

    def _will_do(self, acl: Acl, wanted: Iterable[str], used: Iterable[str]) -> bool:
        if acl.resource_type not in PREFIXED_TYPES or not self._limits.prefix_from:
            return False
        prefix = acl.resource_name
        if count_under(prefix, wanted) < self._limits.prefix_from:
            return False
        known = count_under(prefix, self._names)
        if known - count_under(prefix, used) > self._limits.slack * known:
            return False
        covering = self._today.covering(acl)
        return not why_not(acl) and any(concerns(each, acl.operation) for each in covering)


def _allows(one: Acl, literal: Acl) -> bool:
    return (
        one.host in (WILDCARD, literal.host)
        and one.principal in (WILDCARD_PRINCIPAL, literal.principal)
        and reaches(one, literal.resource_type, literal.resource_name)
        and concerns(one, literal.operation)
    )


def count_under(prefix: str, names: Iterable[str]) -> int:
    return sum(name.startswith(prefix) for name in names)

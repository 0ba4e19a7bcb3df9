"""Compares two versions of Kafka on the same ACLs: who gains and who loses what, and where.

The versions match hosts differently: an ACL whose host is a CIDR block matches from Kafka 4.4
on. Each claim has a witness: one request that the two versions answer differently. One client
address stands for all addresses that the same ACLs match. This module must not know where ACLs
come from, nor how a claim is shown.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from authorizer.analysis.access.allowed_patterns import Operations, operations_of
from authorizer.analysis.access.host_regions import HostRegion, host_regions, is_client_host
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import ALLOWS, DENIES
from authorizer.engine.decision_cache import DecisionContext
from authorizer.engine.index import AclIndex
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import is_allow
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl, PatternType, ResourceType

OTHER: Final = "\0"
"""Ends a name, or a principal, that no ACL names."""
_OTHER_PRINCIPAL: Final = f"User:{OTHER}"
MOST_ASKED: Final = 200_000
"""How many requests are compared at most: the worst sets of ACLs need names times principals
times hosts."""


class TurnedAnswer(NamedTuple):
    """``principal`` gains and loses operations on ``resource_name`` from ``region``, a host of
    ACLs; ``client`` is an address there. A name or principal that no ACL names ends in OTHER."""

    principal: str
    region: str
    client: str
    resource_type: ResourceType
    resource_name: str
    gains: Operations
    loses: Operations


class Upgrade(NamedTuple):
    """``turned`` maps each ACL on a CIDR block to the answers that it changes; answers that
    differ in the resource's name only are listed once. ``is_whole``: no limit was reached."""

    turned: dict[Acl, tuple[TurnedAnswer, ...]]
    is_whole: bool


def upgrade(acls: Collection[Acl], config: AuthorizerConfig, to: KafkaVersion) -> Upgrade:
    """The answers that change when ``to`` decides in place of the other version."""
    return _Comparison(acls, config, to).of_all()


class _TooManyRequests(Exception):
    """More than MOST_ASKED requests need to be compared."""


class _Comparison:
    def __init__(self, acls: Collection[Acl], config: AuthorizerConfig, to: KafkaVersion) -> None:
        self._acls = list(dict.fromkeys(acls))
        self._index = AclIndex.of(self._acls)
        self._super_users = config.super_users
        self._before, self._after = (
            DecisionContext(self._index, config._replace(kafka_version=version), shut_by="")
            for version in (to.other, to)
        )
        names: dict[ResourceType, set[str]] = {}
        for acl in self._acls:
            ends = "" if acl.pattern_type is PatternType.LITERAL else OTHER
            names.setdefault(acl.resource_type, set()).add(acl.resource_name + ends)
        self._names = {kind: sorted(known) for kind, known in names.items()}
        self._asked = 0

    def of_all(self) -> Upgrade:
        newest = KafkaVersion.V4_4
        found: dict[Acl, tuple[TurnedAnswer, ...]] = {
            acl: () for acl in self._acls if "/" in acl.host and is_client_host(acl.host, newest)
        }
        try:
            for acl in found:
                found[acl] = tuple(self._turned_by(acl))
        except _TooManyRequests:
            return Upgrade(found, is_whole=False)
        return Upgrade(found, is_whole=True)

    def _turned_by(self, acl: Acl) -> Iterator[TurnedAnswer]:
        said: set[tuple[object, ...]] = set()
        for name in self._reached_by(acl):
            near = self._index.candidates(acl.resource_type, name)
            regions = host_regions(sorted({each.host for each in near}), KafkaVersion.V4_4)
            inside = [region for region in regions if acl.host in region.matching]
            for principal in _principals(acl, near):
                for region in inside:
                    turned = self._turned(acl, principal, region, name)
                    if turned is None:
                        continue
                    key = turned._replace(resource_name="")
                    if key not in said:
                        said.add(key)
                        yield turned

    def _reached_by(self, acl: Acl) -> Iterator[str]:
        """The names of ACLs that ``acl`` reaches, and one that no other ACL names."""
        name, names = acl.resource_name, self._names[acl.resource_type]
        if acl.pattern_type is PatternType.LITERAL and name != WILDCARD:
            yield name
        elif acl.pattern_type is PatternType.LITERAL:
            yield OTHER
            yield from (each for each in names if each == WILDCARD or each[:1] != WILDCARD)
        else:
            yield name + OTHER
            for each in names[bisect_left(names, name) :]:
                if not each.startswith(name):
                    break
                if each != name + OTHER:
                    yield each

    def _turned(
        self, acl: Acl, principal: str, region: HostRegion, name: str
    ) -> TurnedAnswer | None:
        self._asked += 1
        if self._asked > MOST_ASKED:
            raise _TooManyRequests
        if principal in self._super_users:
            return None
        identity, kind = (region.client, principal), acl.resource_type
        before = self._before.scope(kind, identity).allowed_on(name)
        after = self._after.scope(kind, identity).allowed_on(name)
        mask = ALLOWS[acl.operation] if is_allow(acl) else DENIES[acl.operation]
        gains = operations_of(after & ~before & mask, kind)
        loses = operations_of(before & ~after & mask, kind)
        if not (gains or loses):
            return None
        return TurnedAnswer(principal, region.host, region.client, kind, name, gains, loses)


def _principals(acl: Acl, near: Iterable[Acl]) -> list[str]:
    if acl.principal != WILDCARD_PRINCIPAL:
        return [acl.principal]
    return [*sorted({each.principal for each in near} - {WILDCARD_PRINCIPAL}), _OTHER_PRINCIPAL]

"""Finds the principals that may do one operation on one resource, and the ACLs that decide.

This module must not know logs, files or how anything is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from authorizer.analysis.access.host_regions import host_regions
from authorizer.analysis.access.hosts import HostAnswer
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import concerns, decision_order, subject
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import is_allow, reaches
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl, Operation, ResourceType
from metalog.grouping import grouped


class Holder(NamedTuple):
    """The decision for ``principal``; None stands for all principals without a holder.

    ``acl`` decides for the requested host. If no host is requested, ``acl`` decides for a host that
    no ACL names, and ``hosts`` has the hosts whose decision differs from the next wider region. If
    ``is_overridden``, an ALLOW matches, but a DENY decides.
    """

    principal: str | None
    allowed: bool
    acl: Acl | None = None
    hosts: tuple[HostAnswer, ...] = ()
    is_overridden: bool = False

    @property
    def may(self) -> bool:
        """Whether the principal is allowed from some host."""
        return self.allowed or any(answer.allowed for answer in self.hosts)


class WhoCan(NamedTuple):
    """The holders in order of principals; the last holder is for all other principals.

    Super users are not listed. If ``by_default``, ``allow.everyone.if.no.acl.found`` decides.
    """

    holders: tuple[Holder, ...]
    by_default: bool


def who_can(
    acls: Iterable[Acl],
    config: AuthorizerConfig,
    operation: Operation,
    resource_type: ResourceType,
    name: str,
    host: str | None = None,
) -> WhoCan:
    """Who may do ``operation`` on the resource, from ``host``.

    Without ``host``: from a host that no ACL names, and from each host in the ACLs.
    """
    reaching = sorted(
        {acl for acl in acls if reaches(acl, resource_type, name)},
        key=lambda acl: decision_order(acl, name),
    )
    if not reaching and config.allow_everyone:
        return WhoCan((Holder(None, allowed=True),), by_default=True)
    concerning = [(place, acl) for place, acl in enumerate(reaching) if concerns(acl, operation)]
    own = grouped(concerning, lambda placed: placed[1].principal)
    everyones = own.pop(WILDCARD_PRINCIPAL, [])
    resource = _Resource(reaching, everyones, host, config.kafka)
    holders = [
        resource.holder(principal, _ByHost(found))
        for principal, found in own.items()
        if principal not in config.super_users
    ]
    holders.sort(key=lambda holder: holder.principal or "")
    return WhoCan((*holders, resource.holder(None, _ByHost([]))), by_default=False)


class _ByHost:
    """For each host: the positions of one principal's first DENY, last ALLOW and first ACL."""

    def __init__(self, acls: Iterable[tuple[int, Acl]]) -> None:
        self.denies: dict[str, int] = {}
        self.allows: dict[str, int] = {}
        self.first: dict[str, int] = {}
        for place, acl in acls:
            self.first.setdefault(acl.host, place)
            if is_allow(acl):
                self.allows[acl.host] = place
            else:
                self.denies.setdefault(acl.host, place)


class _Resource:
    """The decisions on one resource. ``reaching`` has its ACLs in Kafka's order."""

    def __init__(
        self,
        reaching: list[Acl],
        everyones: list[tuple[int, Acl]],
        host: str | None,
        kafka: KafkaVersion,
    ) -> None:
        self._reaching = reaching
        self._everyones = _ByHost(everyones)
        self._host = host
        self._kafka = kafka
        client = subject(WILDCARD if host is None else host, kafka=kafka)
        self._hosts = {WILDCARD, *filter(client.comes_from, {acl.host for acl in reaching})}
        self._for_everyone: dict[bool, tuple[HostAnswer, ...]] = {}

    def holder(self, principal: str | None, own: _ByHost) -> Holder:
        denies, allows = _denies_and_allows((own, self._everyones), self._hosts)
        place = min(denies) if denies else max(allows, default=None)
        return Holder(
            principal,
            bool(allows and not denies),
            None if place is None else self._reaching[place],
            () if denies or self._host is not None else self._differing_hosts(own, bool(allows)),
            bool(allows and denies),
        )

    def _differing_hosts(self, own: _ByHost, allowed: bool) -> tuple[HostAnswer, ...]:
        if own.first.keys() - {WILDCARD}:
            return self._compared_by_region((own, self._everyones), allowed)
        if allowed not in self._for_everyone:
            self._for_everyone[allowed] = self._compared_by_region((self._everyones,), allowed)
        return self._for_everyone[allowed]

    def _compared_by_region(
        self, sides: tuple[_ByHost, ...], allowed: bool
    ) -> tuple[HostAnswer, ...]:
        answers: dict[str | None, bool] = {None: allowed}
        found: list[tuple[int, HostAnswer]] = []
        named = dict.fromkeys(host for side in sides for host in side.first)
        for region in host_regions(named, self._kafka):
            denies, allows = _denies_and_allows(sides, region.matching)
            is_allowed = not denies and (allowed or bool(allows))
            answers[region.host] = is_allowed
            if is_allowed is not answers[region.around]:
                by = self._reaching[max(allows) if is_allowed else min(denies)]
                first = min(s.first[region.host] for s in sides if region.host in s.first)
                found.append((first, HostAnswer(region.host, is_allowed, by)))
        return tuple(answer for _, answer in sorted(found))


def _denies_and_allows(
    sides: Iterable[_ByHost], hosts: Collection[str]
) -> tuple[list[int], list[int]]:
    denies = [side.denies[host] for side in sides for host in hosts if host in side.denies]
    allows = [side.allows[host] for side in sides for host in hosts if host in side.allows]
    return denies, allows

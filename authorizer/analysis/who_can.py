"""Who may do one operation on one resource, and by which ACL: ``can`` the other way round.

The work is linear in the ACLs that reach the resource and in the hosts that the answer names;
holders whom the same hosts turn share them. It must not know logs, files or how anything is
shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from authorizer.analysis.hosts import HostAnswer, can_be_a_client
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import concerns, decision_order
from authorizer.trace import is_allow, reaches
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl, Operation, ResourceType


class Holder(NamedTuple):
    """What is decided for ``principal``, or, with None, for all whom no other holder names.

    ``acl`` decides for a host that no ACL names (or for the one that was asked for);
    ``hosts`` are answered otherwise. ``is_overridden``: an ALLOW matches, and a DENY too.
    """

    principal: str | None
    allowed: bool
    acl: Acl | None = None
    hosts: tuple[HostAnswer, ...] = ()
    is_overridden: bool = False

    @property
    def may(self) -> bool:
        """Whether it is allowed from some host."""
        return self.allowed or any(answer.allowed for answer in self.hosts)


class WhoCan(NamedTuple):
    """``holders``, everyone else last. ``by_default``: no ACL reaches the resource, and
    allow.everyone.if.no.acl.found holds. Super users may everything, and are no holders."""

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
    """Without a ``host`` for one that no ACL names, and for those that are named."""
    reaching = sorted(
        {acl for acl in acls if reaches(acl, resource_type, name)},
        key=lambda acl: decision_order(acl, name),
    )
    if not reaching and config.allow_everyone:
        return WhoCan((Holder(None, allowed=True),), by_default=True)
    concerning = [(place, acl) for place, acl in enumerate(reaching) if concerns(acl, operation)]
    own: dict[str, list[tuple[int, Acl]]] = {}
    for place, acl in concerning:
        own.setdefault(acl.principal, []).append((place, acl))
    resource = _Resource(reaching, own.pop(WILDCARD_PRINCIPAL, []), host)
    holders = [
        resource.holder(principal, _ByHost(found))
        for principal, found in own.items()
        if principal not in config.super_users
    ]
    holders.sort(key=lambda holder: holder.principal or "")
    return WhoCan((*holders, resource.holder(None, _ByHost([]))), by_default=False)


class _ByHost:
    """What the ACLs of one principal say, each with its place in Kafka's order: by host, the place
    of the first DENY, of the last ALLOW, and of the first ACL at all."""

    def __init__(self, acls: Iterable[tuple[int, Acl]]) -> None:
        self.denies: dict[str, int] = {}
        self.allows: dict[str, int] = {}
        self.places: dict[str, int] = {}
        for place, acl in acls:
            self.places.setdefault(acl.host, place)
            if is_allow(acl):
                self.allows[acl.host] = place
            else:
                self.denies.setdefault(acl.host, place)


class _Resource:
    """Who holds what on one resource, which ``reaching`` reach, in Kafka's order."""

    def __init__(
        self, reaching: list[Acl], everyones: list[tuple[int, Acl]], asked: str | None
    ) -> None:
        self._reaching = reaching
        self._everyones = _ByHost(everyones)
        self._asked = asked
        self._for_everyone: dict[bool, tuple[HostAnswer, ...]] = {}
        self._clients: dict[str, bool] = {}

    def holder(self, principal: str | None, own: _ByHost) -> Holder:
        sides = (own, self._everyones)
        hosts = {WILDCARD, WILDCARD if self._asked is None else self._asked}
        denies = [side.denies[host] for side in sides for host in hosts if host in side.denies]
        allows = [side.allows[host] for side in sides for host in hosts if host in side.allows]
        place = min(denies) if denies else max(allows, default=None)
        return Holder(
            principal,
            bool(allows and not denies),
            None if place is None else self._reaching[place],
            () if denies or self._asked is not None else self._turned(own, bool(allows)),
            bool(allows and denies),
        )

    def _turned(self, own: _ByHost, allowed: bool) -> tuple[HostAnswer, ...]:
        """The named hosts that are answered otherwise than ``allowed``."""
        if own.places.keys() - {WILDCARD}:
            return self._turned_by((own, self._everyones), allowed)
        if allowed not in self._for_everyone:
            self._for_everyone[allowed] = self._turned_by((self._everyones,), allowed)
        return self._for_everyone[allowed]

    def _turned_by(self, sides: tuple[_ByHost, ...], allowed: bool) -> tuple[HostAnswer, ...]:
        turning: dict[str, int] = {}
        for side in sides:
            for host, place in (side.denies if allowed else side.allows).items():
                known = turning.get(host, place)
                turning[host] = min(known, place) if allowed else max(known, place)
        if not allowed:
            turning = {
                host: place
                for host, place in turning.items()
                if not any(host in side.denies for side in sides)
            }
        hosts = [host for host in turning if self._is_client(host)]
        hosts.sort(key=lambda host: min(s.places[host] for s in sides if host in s.places))
        return tuple(HostAnswer(host, not allowed, self._reaching[turning[host]]) for host in hosts)

    def _is_client(self, host: str) -> bool:
        known = self._clients.get(host)
        if known is None:
            known = self._clients[host] = can_be_a_client(host)
        return known

"""Who may do one operation on one resource, and by which ACL: ``can`` the other way round.

It must not know logs, files or how anything is shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from authorizer.config import AuthorizerConfig
from authorizer.decide import Decision, concerns, decide, decision_order, session
from authorizer.insight.hosts import HostAnswer, can_be_a_client
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
    place = {acl: number for number, acl in enumerate(reaching) if concerns(acl, operation)}
    own: dict[str, list[Acl]] = {}
    for acl in place:
        own.setdefault(acl.principal, []).append(acl)
    everyones = own.pop(WILDCARD_PRINCIPAL, [])
    holders = [
        _holder(principal, sorted([*found, *everyones], key=place.__getitem__), operation, host)
        for principal, found in own.items()
        if principal not in config.super_users
    ]
    holders.sort(key=lambda holder: holder.principal or "")
    return WhoCan((*holders, _holder(None, everyones, operation, host)), by_default=False)


def _holder(
    principal: str | None, acls: list[Acl], operation: Operation, asked: str | None
) -> Holder:
    """``acls`` are those that mean the principal, in their order."""

    def decided(host: str, among: Iterable[Acl] = acls) -> Decision:
        who = session(host, principal or WILDCARD_PRINCIPAL)
        return decide(among, who, operation, allow_everyone=False)

    host = WILDCARD if asked is None else asked
    general = decided(host)
    hosts = []
    for named in dict.fromkeys(acl.host for acl in acls) if asked is None else ():
        result, _, acl = decided(named)
        if result is not general.result and acl is not None and can_be_a_client(named):
            hosts.append(HostAnswer(named, bool(result), acl))
    overridden = not general.result and decided(host, filter(is_allow, acls)).acl is not None
    return Holder(principal, bool(general.result), general.acl, tuple(hosts), overridden)

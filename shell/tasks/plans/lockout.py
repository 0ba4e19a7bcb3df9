"""Whether a change of ACLs takes from somebody the right to change them back.

Whoever may ALTER the cluster may change ACLs. This module must not know how ACLs change.
"""

from __future__ import annotations

from collections.abc import Iterable

from authorizer.analysis.access.host_regions import host_regions
from authorizer.api import Action, RequestContext, cluster
from authorizer.config import AuthorizerConfig
from authorizer.standard import StandardAuthorizer
from metalog.acl import WILDCARD_PRINCIPAL, Acl, Operation, ResourceType

EVERYONE = "everyone"
_ALTER = Action(Operation.ALTER, cluster())
_SOMEBODY = "User:\0"
"""Stands for every principal that no ACL names, and likewise a host."""
_SOMEWHERE = "\0"

Who = tuple[str, str]


def lockout(
    before: Iterable[Acl], after: Iterable[Acl], config: AuthorizerConfig, caller: str | None
) -> str | None:
    """What would be lost, in words, or None. A super user loses nothing."""
    held, left = (
        [acl for acl in acls if acl.resource_type is ResourceType.CLUSTER]
        for acls in (before, after)
    )
    asked = _everyone([*held, *left], config, caller)
    could = _who_may(held, config, asked)
    can = _who_may(left, config, asked)
    lost = sorted(host for who, host in could - can if who == caller)
    if lost:
        where = "" if lost[0] == _SOMEWHERE else f", at {lost[0]},"
        return f"{caller} (the caller){where}"
    if could and not can and not config.super_users:
        return EVERYONE
    return None


def lockout_said(
    before: Iterable[Acl], after: Iterable[Acl], config: AuthorizerConfig, caller: str | None
) -> str | None:
    """Why a change is refused that takes somebody the right to alter ACLs, or None."""
    lost = lockout(before, after, config, caller)
    if lost is None:
        return None
    advice = "name --super-users if there are some, or " if lost == EVERYONE else ""
    return (
        f"this takes from {lost} the right to alter ACLs; {advice}--allow-lockout does it all "
        "the same"
    )


def who_may_alter(
    acls: Iterable[Acl], config: AuthorizerConfig, principals: Iterable[str]
) -> set[str]:
    """Those of ``principals`` who may alter ACLs from some host."""
    on_cluster = [acl for acl in acls if acl.resource_type is ResourceType.CLUSTER]
    hosts = _clients(on_cluster, config)
    asked = {(principal, host) for principal in principals for host in hosts}
    return {principal for principal, _ in _who_may(on_cluster, config, asked)}


def _clients(acls: Iterable[Acl], config: AuthorizerConfig) -> set[str]:
    """A client of each region that the hosts of ``acls`` make, and one of none."""
    regions = host_regions(sorted({acl.host for acl in acls}), config.kafka)
    return {region.client for region in regions} | {_SOMEWHERE}


def _everyone(held: list[Acl], config: AuthorizerConfig, caller: str | None) -> set[Who]:
    principals = {acl.principal for acl in held} - {WILDCARD_PRINCIPAL}
    principals |= {_SOMEBODY} if caller is None else {_SOMEBODY, caller}
    hosts = _clients(held, config)
    return {(principal, host) for principal in principals for host in hosts}


def _who_may(acls: list[Acl], config: AuthorizerConfig, asked: set[Who]) -> set[Who]:
    authorizer = StandardAuthorizer.from_acls(
        acls,
        super_users=config.super_users,
        allow_everyone=config.allow_everyone,
        kafka_version=config.kafka.value,
        tolerant=True,
    )
    return {
        (principal, host)
        for principal, host in asked
        if authorizer.is_allowed(RequestContext(principal, host), _ALTER)
    }

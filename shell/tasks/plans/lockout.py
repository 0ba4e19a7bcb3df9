"""Finds lock-outs: changes after which the caller, or everybody, can no longer change ACLs.

Changing ACLs needs ALTER on the cluster. This module must not know how ACLs change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from authorizer.analysis.cells.clients import ANY_HOST, ClientClass
from authorizer.analysis.cells.enumeration import cells_of
from authorizer.analysis.cells.names import THE_CLUSTER
from authorizer.analysis.cells.sessions import ANYBODY, PrincipalSet, Requests, Session, Sessions
from authorizer.config import AuthorizerConfig
from authorizer.engine.cache.decision_cache import DecisionContext
from authorizer.engine.index import AclIndex
from metalog.acl import Acl, Operation, ResourceType

EVERYONE = "everyone"
_ALTER = 1 << Operation.ALTER


def lockout(
    before: Iterable[Acl], after: Iterable[Acl], config: AuthorizerConfig, caller: str | None
) -> str | None:
    """The caller or ``EVERYONE``, in words, if locked out; else None. A super user is never locked
    out."""
    sets = [
        [acl for acl in acls if acl.resource_type is ResourceType.CLUSTER]
        for acls in (before, after)
    ]
    lost = [] if caller is None else _lost_by(caller, sets, config)
    if lost:
        where = "" if lost[0].host is None else f", at {lost[0].client},"
        return f"{caller} (the caller){where}"
    if config.super_users:
        return None
    could, can = (any(_altering(ANYBODY, acls, sets, config)) for acls in sets)
    return EVERYONE if could and not can else None


def _lost_by(
    caller: str, sets: Sequence[Sequence[Acl]], config: AuthorizerConfig
) -> list[ClientClass]:
    only_caller = PrincipalSet(frozenset({caller}), is_excluded=False)
    could, can = (
        {
            session.clients.client: session.clients
            for session in _altering(only_caller, acls, sets, config)
        }
        for acls in sets
    )
    return [could[client] for client in could if client not in can]


def lockout_text(
    before: Iterable[Acl], after: Iterable[Acl], config: AuthorizerConfig, caller: str | None
) -> str | None:
    lost = lockout(before, after, config, caller)
    if lost is None:
        return None
    advice = "name super users with --super-users, or " if lost == EVERYONE else ""
    return f"this takes from {lost} the right to alter ACLs; {advice}pass --allow-lockout"


def who_may_alter(
    acls: Iterable[Acl], config: AuthorizerConfig, principals: Iterable[str]
) -> set[str]:
    """The principals among ``principals`` that may alter ACLs from some host."""
    on_cluster = [acl for acl in acls if acl.resource_type is ResourceType.CLUSTER]
    named = PrincipalSet(frozenset(principals), is_excluded=False)
    return {session.principal for session in _altering(named, on_cluster, [on_cluster], config)}


def _altering(
    principals: PrincipalSet,
    acls: Sequence[Acl],
    dividing: Iterable[Sequence[Acl]],
    config: AuthorizerConfig,
) -> Iterator[Session]:
    """Sessions that may alter ACLs if ``acls`` are in force: one of all sessions that the ACLs in
    ``dividing`` cannot distinguish."""
    kind = ResourceType.CLUSTER
    requests = Requests(principals, ANY_HOST, _ALTER, kind, THE_CLUSTER)
    all_acls = dict.fromkeys(acl for acl_set in dividing for acl in acl_set)
    context = DecisionContext(AclIndex.of(acls), config, shut_by="")
    for cell in cells_of(Sessions(all_acls, config, requests), context):
        if cell.allowed & _ALTER:
            yield cell.session

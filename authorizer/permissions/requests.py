"""What to ask an authorizer before a request is carried out or passed on.

``table`` says what each request of Kafka's protocol needs; here names are put into it.
This module must not know how a decision is made, nor how a request is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from authorizer.api import Action, RequestContext, ResourcePattern, cluster
from authorizer.engine.decide import ALLOWED
from authorizer.interface import Authorizer
from authorizer.permissions.table import APIS, ApiPermissions, Permission, PermissionNeed
from metalog.acl import ResourceType
from metalog.errors import InvalidRequest

_APIS: Final = {api.name: api for api in APIS}
_BY_OWNERSHIP: Final = ("RenewDelegationToken", "ExpireDelegationToken")
_KINDS: Final = {
    "topics": ResourceType.TOPIC,
    "groups": ResourceType.GROUP,
    "transactional_ids": ResourceType.TRANSACTIONAL_ID,
    "delegation_tokens": ResourceType.DELEGATION_TOKEN,
    "users": ResourceType.USER,
}
_ARGUMENTS: Final = {kind: argument for argument, kind in _KINDS.items()}

Asked = list[tuple[Action, ...]]
"""Of each entry one action must be allowed, asked in this order."""


def actions(api: str, *, on_cluster: bool = False, **names: Collection[str]) -> Asked:
    """What the request called ``api`` needs that names these ``topics``, ``groups``,
    ``transactional_ids``, ``delegation_tokens`` and ``users``. A name that comes several times
    is asked once, with the count of its references.

    What it needs only under a condition is asked where a resource of that kind is named: Produce
    needs WRITE on a transactional id if it has one. ``on_cluster`` is for those whose condition
    is that they concern the cluster. A kind that a request always has is to be given, be it as
    ``[]``: ``InvalidRequest`` otherwise, since to ask nothing would allow everything. Without
    what is optional to Kafka a request succeeds and does less: that is not among these.
    """
    found = _APIS.get(api)
    if found is None:
        near = get_close_matches(api, _APIS, n=1)
        raise InvalidRequest(
            f"{api} is not a request of Kafka's" + (f"; did you mean {near[0]}?" if near else "")
        )
    if api in _BY_OWNERSHIP:
        raise InvalidRequest(f"{api}: {found.note}; it cannot be checked here")
    given = {_kind(found, argument): list(each) for argument, each in names.items()}
    needs = [need for need in found.needs if not need.optional]
    applying = [need for need in needs if _applies(found, need, given, on_cluster)]
    if needs and not applying:
        possible = sorted(_ARGUMENTS[kind] for kind in _kinds(needs)) or ["on_cluster=True"]
        raise InvalidRequest(f"{api}: name its resources: {', '.join(possible)}")
    return [each for need in applying for each in _asked(found, need, given)]


def are_allowed(authorizer: Authorizer, context: RequestContext, asked: Asked) -> bool:
    """Whether ``context`` may do all that ``actions`` gave."""
    return all(each_allowed(authorizer, context, asked))


def each_allowed(authorizer: Authorizer, context: RequestContext, asked: Asked) -> list[bool]:
    """Of each entry that ``actions`` gave, whether ``context`` may do it.

    All first alternatives are asked in one call, as Kafka does it, and then, in one more, the
    next ones of those entries that were refused.
    """
    allowed = [False] * len(asked)
    refused, place = list(range(len(asked))), 0
    while refused := [each for each in refused if place < len(asked[each])]:
        results = authorizer.authorize(context, [asked[each][place] for each in refused])
        for each, result in zip(refused, results, strict=True):
            allowed[each] = result is ALLOWED
        refused, place = [each for each in refused if not allowed[each]], place + 1
    return allowed


def _kinds(needs: Collection[PermissionNeed]) -> set[ResourceType]:
    """Those that have names."""
    spoken_of = {each.resource_type for need in needs for each in need.one_of}
    return spoken_of - {ResourceType.CLUSTER}


def _kind(api: ApiPermissions, argument: str) -> ResourceType:
    kind = _KINDS.get(argument)
    if kind is None:
        raise InvalidRequest(f"{argument} is not one of {', '.join(_KINDS)}")
    if kind not in _kinds(api.needs):
        raise InvalidRequest(f"{api.name} needs nothing on {argument}")
    return kind


def _applies(
    api: ApiPermissions, need: PermissionNeed, given: Collection[ResourceType], on_cluster: bool
) -> bool:
    kinds = _kinds([need])
    missing = sorted(_ARGUMENTS[kind] for kind in kinds if kind not in given)
    if not need.when and missing:
        raise InvalidRequest(f"{api.name}: say which {missing[0]} it names, or []")
    return not missing if kinds else on_cluster or not need.when


def _asked(
    api: ApiPermissions, need: PermissionNeed, given: Mapping[ResourceType, Sequence[str]]
) -> Asked:
    if any(each.any_name for each in need.one_of):
        raise InvalidRequest(f"{api.name}: any topic will do; call authorize_by_resource_type")
    kinds = _kinds([need])
    names = [name for kind in kinds for name in given[kind]]
    if not kinds or not names:
        on_cluster = [each for each in need.one_of if each.resource_type is ResourceType.CLUSTER]
        return [_alternatives(on_cluster, "")] if on_cluster else []
    return [_alternatives(need.one_of, name, count) for name, count in Counter(names).items()]


def _alternatives(
    permissions: Sequence[Permission], name: str, count: int = 1
) -> tuple[Action, ...]:
    """Only the last of them is a denial to the audit log, as with Kafka."""
    last = len(permissions) - 1
    return tuple(
        Action(
            each.operation,
            cluster()
            if each.resource_type is ResourceType.CLUSTER
            else ResourcePattern(each.resource_type, name),
            resource_reference_count=count,
            log_if_denied=place == last,
        )
        for place, each in enumerate(permissions)
    )

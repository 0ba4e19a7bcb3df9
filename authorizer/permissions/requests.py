"""The actions to authorize before a request is carried out or forwarded.

``table`` has the permissions that each request of Kafka's protocol needs. This module adds the
names of the resources. It must not know how a decision is made, nor how a request is encoded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from authorizer.api import Action, RequestContext, ResourcePattern, cluster
from authorizer.engine.decide import ALLOWED
from authorizer.interface import Authorizer
from authorizer.permissions.table import (
    APIS,
    TO_A_CONTROLLER,
    ApiPermissions,
    Permission,
    PermissionNeed,
)
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

RequiredActions = list[tuple[Action, ...]]
"""Each entry has alternative actions, in Kafka's order; at least one must be allowed."""


def actions(api: str, *, on_cluster: bool = False, **names: Collection[str]) -> RequiredActions:
    """The actions that the request ``api`` needs on the resources in ``names``.

    The kinds of ``names`` are ``topics``, ``groups``, ``transactional_ids``, ``delegation_tokens``
    and ``users``. A repeated name becomes one action, with the count of its references.

    The caller decides which conditional permissions are required. Produce needs WRITE on a
    transactional id only if ``transactional_ids`` is passed. Cluster permissions need
    ``on_cluster``: pass it if a follower fetches, or if DescribeCluster goes to a controller.
    Optional permissions are left out, except DescribeCluster's ALTER.

    Raises:
        InvalidRequest: ``api`` is unknown or cannot be checked here, or ``names`` has one text in
            place of a list, or other kinds than ``api`` needs. A missing kind is refused, because
            an empty result would allow the request. Pass ``[]`` for a kind without names.
    """
    for argument, each in names.items():
        if isinstance(each, str):
            raise InvalidRequest(f"{argument}: give a list of names, as [{each!r}]")
    found = _APIS.get(api)
    if found is None:
        near = get_close_matches(api, _APIS, n=1)
        raise InvalidRequest(
            f"Kafka has no request {api}" + (f"; did you mean {near[0]}?" if near else "")
        )
    if api in _BY_OWNERSHIP:
        raise InvalidRequest(f"{api}: {found.note}; this request cannot be checked here")
    names_of_kind = {_kind(found, argument): list(each) for argument, each in names.items()}
    needs = [
        need
        for need in found.needs
        if not need.optional or (on_cluster and need.when == TO_A_CONTROLLER)
    ]
    applying = [need for need in needs if _applies(found, need, names_of_kind, on_cluster)]
    if needs and not applying:
        possible = sorted(_ARGUMENTS[kind] for kind in _kinds(needs))
        raise InvalidRequest(f"{api}: pass the names of its resources as {' or '.join(possible)}")
    return [each for need in applying for each in _entries(found, need, names_of_kind)]


def are_allowed(authorizer: Authorizer, context: RequestContext, required: RequiredActions) -> bool:
    """Whether ``context`` may do all of ``required``, the result of ``actions``."""
    return all(each_allowed(authorizer, context, required))


def each_allowed(
    authorizer: Authorizer, context: RequestContext, required: RequiredActions
) -> list[bool]:
    """Whether ``context`` may do each entry of ``required``, the result of ``actions``.

    As in Kafka, one call decides on the first alternatives of all entries, the next call on the
    second alternatives of the refused entries, and so on.
    """
    allowed = [False] * len(required)
    refused, index = list(range(len(required))), 0
    while refused := [each for each in refused if index < len(required[each])]:
        results = authorizer.authorize(context, [required[each][index] for each in refused])
        for each, result in zip(refused, results, strict=True):
            allowed[each] = result is ALLOWED
        refused, index = [each for each in refused if not allowed[each]], index + 1
    return allowed


def _kinds(needs: Collection[PermissionNeed]) -> set[ResourceType]:
    kinds = {each.resource_type for need in needs for each in need.one_of}
    return kinds - {ResourceType.CLUSTER}


def _kind(api: ApiPermissions, argument: str) -> ResourceType:
    kind = _KINDS.get(argument)
    if kind is None:
        raise InvalidRequest(f"{argument} is not one of {', '.join(_KINDS)}")
    if kind not in _kinds(api.needs):
        raise InvalidRequest(f"{api.name} needs no permission on {argument}")
    return kind


def _applies(
    api: ApiPermissions,
    need: PermissionNeed,
    names_of_kind: Collection[ResourceType],
    on_cluster: bool,
) -> bool:
    kinds = _kinds([need])
    missing = sorted(_ARGUMENTS[kind] for kind in kinds if kind not in names_of_kind)
    kinds_in_case = _kinds([other for other in api.needs if other.when == need.when])
    if missing and not (need.when and kinds_in_case.isdisjoint(names_of_kind)):
        raise InvalidRequest(f"{api.name}: pass {missing[0]}, or {missing[0]}=[] for none")
    return not missing if kinds else on_cluster or not need.when


def _entries(
    api: ApiPermissions, need: PermissionNeed, names_of_kind: Mapping[ResourceType, Sequence[str]]
) -> RequiredActions:
    if any(each.any_name for each in need.one_of):
        raise InvalidRequest(
            f"{api.name}: one topic of any name is enough; call authorize_by_resource_type"
        )
    kinds = _kinds([need])
    names = [name for kind in kinds for name in names_of_kind[kind]]
    if not kinds or not names:
        on_cluster = [each for each in need.one_of if each.resource_type is ResourceType.CLUSTER]
        return [_alternatives(on_cluster, "")] if on_cluster else []
    return [_alternatives(need.one_of, name, count) for name, count in Counter(names).items()]


def _alternatives(
    permissions: Sequence[Permission], name: str, count: int = 1
) -> tuple[Action, ...]:
    """As in Kafka, only the last alternative logs a denial."""
    last = len(permissions) - 1
    return tuple(
        Action(
            each.operation,
            cluster()
            if each.resource_type is ResourceType.CLUSTER
            else ResourcePattern(each.resource_type, name),
            resource_reference_count=count,
            log_if_denied=index == last,
        )
        for index, each in enumerate(permissions)
    )

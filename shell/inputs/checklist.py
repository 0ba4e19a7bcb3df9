"""Builds the checklist that the arguments ask for.

This module must not know how a checklist is answered.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable

from authorizer.permissions.table import (
    APIS,
    ASSIGNED_CONSUMER,
    CONSUMER,
    PRODUCER,
    TRANSACTIONAL_PRODUCER,
    ApiPermissions,
    PermissionStep,
)
from metalog.acl import CLUSTER_NAME, ResourceType
from metalog.errors import InvalidRequest
from metalog_sources.formats.nodes.words import folded
from shell.arguments.question import as_java_writes, read_principal_and_resources
from shell.tasks.checklist import Checklist, Named


def read_checklist(arguments: Namespace) -> Checklist:
    principal, resources = read_principal_and_resources(arguments)
    named = {ResourceType.CLUSTER: CLUSTER_NAME, **_one_of_each(resources)}
    chosen = [arguments.producer, arguments.consumer, bool(arguments.api)]
    if sum(chosen) > 1:
        raise InvalidRequest("give one of --producer, --consumer and --api")
    note = ""
    if arguments.api:
        api = _api(arguments.api)
        title, steps, note = f"{api.name} ({api.key})", _applicable(api, named), api.note
    elif arguments.producer:
        transactional = ResourceType.TRANSACTIONAL_ID in named
        title = "a transactional producer" if transactional else "a producer"
        steps = TRANSACTIONAL_PRODUCER if transactional else PRODUCER
    else:
        grouped = ResourceType.GROUP in named
        title = "a consumer in a group" if grouped else "a consumer without a group"
        steps = CONSUMER if grouped else ASSIGNED_CONSUMER
    _check_named(title, steps, named)
    return Checklist(principal, as_java_writes(arguments.host), title, named, steps, note)


def _one_of_each(resources: Iterable[tuple[ResourceType, str]]) -> dict[ResourceType, str]:
    named: dict[ResourceType, str] = {}
    for resource_type, name in resources:
        if named.setdefault(resource_type, name) != name:
            raise InvalidRequest(f"a checklist is about one {resource_type.name.lower()}")
    return named


def _api(text: str) -> ApiPermissions:
    found = {folded(api.name): api for api in APIS} | {str(api.key): api for api in APIS}
    wanted = folded(text).removesuffix("request")
    if wanted in found:
        return found[wanted]
    from authorizer.analysis.explain.names import nearest_name

    near = nearest_name(wanted, found.keys())
    advice = f"did you mean {found[near].name}?" if near else "names are Kafka's, such as Produce"
    raise InvalidRequest(f"unknown API {text!r}; {advice}")


def _applicable(api: ApiPermissions, named: Named) -> tuple[PermissionStep, ...]:
    """The needs of ``api`` for the ``named`` resources: the first of these lists with any needs.

    - the needs without a condition, and those on a type of ``named`` other than the cluster
    - the needs on the cluster
    - all needs
    """
    types = set(named) - {ResourceType.CLUSTER}
    needs = [
        need
        for need in api.needs
        if not need.when or any(each.resource_type in types for each in need.one_of)
    ]
    if not needs:
        needs = [
            need
            for need in api.needs
            if any(each.resource_type is ResourceType.CLUSTER for each in need.one_of)
        ]
    return tuple(PermissionStep(api.name, need) for need in needs or api.needs)


def _check_named(title: str, steps: Iterable[PermissionStep], named: Named) -> None:
    missing = []
    for step in steps:
        if not any(each.resource_type in named for each in step.need.one_of):
            missing.append(step.need.one_of[-1].resource_type)
    options = sorted({f"--{kind.name.lower().replace('_', '-')}" for kind in missing})
    if options:
        raise InvalidRequest(f"for {title} give {' and '.join(options)}")


def asks_checklist(arguments: Namespace) -> bool:
    return bool(arguments.producer or arguments.consumer or arguments.api)

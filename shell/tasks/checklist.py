"""Every permission that Kafka checks for a task: a producer, a consumer, one request.

This module must not know how one question is answered.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from authorizer.engine.decide import Decision
from authorizer.permissions.table import (
    APIS,
    ASSIGNED_CONSUMER,
    CONSUMER,
    PRODUCER,
    TRANSACTIONAL_PRODUCER,
    ApiPermissions,
    Permission,
    PermissionNeed,
    PermissionStep,
)
from authorizer.trace import Question
from metalog.acl import CLUSTER_NAME, ResourceType
from metalog.errors import InvalidRequest
from shell.arguments.question import as_java_writes, read_principal
from shell.arguments.words import folded
from shell.output.output import Cell, Output
from shell.output.safe import shown
from shell.tasks.queries import Queries
from shell.views.acls import resource_kind, sentence
from shell.views.explanation import resource_said, result_cell
from shell.views.other_kafka import say_other_answers

Named = Mapping[ResourceType, str]


class Checklist(NamedTuple):
    """``principal`` at the task ``title`` on the resources of ``named``."""

    principal: str
    host: str | None
    title: str
    named: Named
    steps: tuple[PermissionStep, ...]
    note: str


class ChecklistLine(NamedTuple):
    """A need of the task, for the requests ``apis``, and how it was answered.

    ``question`` is the alternative that decided it: the one that is allowed, or the last.
    ``denied`` are the ways to meet it that were asked before, ``unasked`` those on resources
    that nobody named. A need that is not ``required`` turns nothing.
    """

    question: Question
    decision: Decision
    any_name: bool
    apis: tuple[str, ...]
    when: str
    required: bool
    denied: tuple[Permission, ...]
    unasked: tuple[Permission, ...]


def read_checklist(arguments: Namespace) -> Checklist:
    """The checklist that ``--producer``, ``--consumer`` or ``--api`` asks for."""
    principal, resources = read_principal(arguments)
    named = {ResourceType.CLUSTER: CLUSTER_NAME, **_one_of_each(resources)}
    chosen = [arguments.producer, arguments.consumer, bool(arguments.api)]
    if sum(chosen) > 1:
        raise InvalidRequest("--producer, --consumer and --api are each a checklist; ask for one")
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


def check(checklist: Checklist, judge: Queries) -> list[ChecklistLine]:
    """Each need of the checklist once, answered, with all the requests that have it."""
    apis: dict[PermissionNeed, list[str]] = {}
    for step in checklist.steps:
        apis.setdefault(step.need, []).append(step.api)
    return [_answered(need, tuple(names), checklist, judge) for need, names in apis.items()]


def _answered(
    need: PermissionNeed, apis: tuple[str, ...], checklist: Checklist, judge: Queries
) -> ChecklistLine:
    possible = [each for each in need.one_of if each.resource_type in checklist.named]
    denied: list[Permission] = []
    for permission in possible:
        question, decision = _ask(permission, checklist, judge)
        if decision.result:
            break
        denied.append(permission)
    return ChecklistLine(
        question,
        decision,
        permission.any_name,
        apis,
        need.when,
        not need.optional,
        tuple(each for each in denied if each is not permission),
        tuple(each for each in need.one_of if each not in possible),
    )


def _ask(permission: Permission, checklist: Checklist, judge: Queries) -> tuple[Question, Decision]:
    question = Question(
        checklist.principal,
        permission.operation,
        permission.resource_type,
        "" if permission.any_name else checklist.named[permission.resource_type],
        checklist.host,
    )
    decide = judge.decide_by_resource_type if permission.any_name else judge.decide
    return question, decide(question)


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
    from authorizer.analysis.names import nearest_name

    near = nearest_name(wanted, found.keys())
    advice = f"did you mean {found[near].name}?" if near else "names are Kafka's, as Produce"
    raise InvalidRequest(f"unknown API {text!r}; {advice}")


def _applicable(api: ApiPermissions, named: Named) -> tuple[PermissionStep, ...]:
    """The needs that hold always, and those that the given resources bring about."""
    given = set(named) - {ResourceType.CLUSTER}
    needs = [
        need
        for need in api.needs
        if not need.when or any(each.resource_type in given for each in need.one_of)
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
        raise InvalidRequest(f"for {title} say {' and '.join(options)}")


def asks_checklist(arguments: Namespace) -> bool:
    return bool(arguments.producer or arguments.consumer or arguments.api)


def answer_checklist(
    checklist: Checklist, judge: Queries, output: Output, more: Mapping[str, Any] | None = None
) -> int:
    """Print the checklist, each JSON record with ``more``; 1 if something is denied that the task
    needs."""
    lines = check(checklist, judge)
    for unknown in dict.fromkeys(
        unknown for line in lines if not line.any_name for unknown in judge.unknown(line.question)
    ):
        output.note(str(unknown))
    say_other_answers((line.question for line in lines if not line.any_name), judge, output)
    missing = [line for line in lines if line.required and not line.decision.result]
    if output.is_text:
        who = output.paint(shown(checklist.principal), "strong")
        host = "a host that no ACL names" if checklist.host is None else shown(checklist.host)
        output.line(f"{who}, as {checklist.title}, from {host}")
        output.aligned((_row(line) for line in lines), indent="  ")
        if checklist.note:
            output.line(f"  {checklist.note}")
    else:
        for line in lines:
            output.record(_as_json(line, judge) | dict(more or {}))
    return 1 if missing else 0


def _row(line: ChecklistLine) -> list[Cell | str]:
    question, decision = line.question, line.decision
    on = (
        f"any {resource_kind(question.resource_type)}" if line.any_name else resource_said(question)
    )
    why = decision.rule if decision.acl is None else sentence(decision.acl)
    if not decision.result:
        why += "".join(f"; {_permission_said(each)} is denied too" for each in line.denied)
        why += "".join(f"; {_permission_said(each)} would do" for each in line.unasked)
    return [
        result_cell(bool(decision.result)),
        f"{question.operation.name} on {on}",
        Cell(why, "faint"),
        "for " + ", ".join(line.apis) + (f", when {line.when}" if line.when else ""),
    ]


def _permission_said(permission: Permission) -> str:
    which = "any" if permission.any_name else "the"
    return f"{permission.operation.name} on {which} {resource_kind(permission.resource_type)}"


def _as_json(line: ChecklistLine, judge: Queries) -> dict[str, Any]:
    record = judge.answer_json(line.question, line.decision)
    if line.any_name:
        record["resourceName"] = None
    return record | {"apis": list(line.apis), "when": line.when, "required": line.required}

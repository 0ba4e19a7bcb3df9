"""Checks every permission that a producer, a consumer or a request needs, and finds changes that
grant the missing permissions.

This module must not know how one question is answered, nor how a checklist is read or shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from authorizer.analysis.explain.explain import explain
from authorizer.analysis.remedies.remedies import Remedy
from authorizer.engine.decide import Decision
from authorizer.permissions.table import Permission, PermissionNeed, PermissionStep
from authorizer.trace import Question
from metalog.acl import Acl, Operation, ResourceType
from shell.tasks.queries import Queries

Named = Mapping[ResourceType, str]


class Checklist(NamedTuple):
    """The permissions that ``principal`` needs for the task ``title`` on the resources
    ``named``."""

    principal: str
    host: str | None
    title: str
    named: Named
    steps: tuple[PermissionStep, ...]
    note: str


class ChecklistLine(NamedTuple):
    """One need of the task, the requests ``apis`` with the need, and the answer.

    One allowed alternative meets the need. ``question`` is the first allowed alternative, or the
    last denied one. ``denied`` are the other denied alternatives. ``untried`` are alternatives on
    resources without a name. Only a ``required`` need changes the result.
    """

    question: Question
    decision: Decision
    any_name: bool
    apis: tuple[str, ...]
    when: str
    required: bool
    denied: tuple[Permission, ...]
    untried: tuple[Permission, ...]


def check(checklist: Checklist, queries: Queries) -> list[ChecklistLine]:
    apis: dict[PermissionNeed, list[str]] = {}
    for step in checklist.steps:
        apis.setdefault(step.need, []).append(step.api)
    return [_answered(need, tuple(names), checklist, queries) for need, names in apis.items()]


def _answered(
    need: PermissionNeed, apis: tuple[str, ...], checklist: Checklist, queries: Queries
) -> ChecklistLine:
    possible = [
        permission for permission in need.one_of if permission.resource_type in checklist.named
    ]
    denied: list[Permission] = []
    for permission in possible:
        question, decision = _decided(permission, checklist, queries)
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
        tuple(other for other in denied if other is not permission),
        tuple(permission for permission in need.one_of if permission not in possible),
    )


def _decided(
    permission: Permission, checklist: Checklist, queries: Queries
) -> tuple[Question, Decision]:
    question = Question(
        checklist.principal,
        permission.operation,
        permission.resource_type,
        "" if permission.any_name else checklist.named[permission.resource_type],
        checklist.host,
    )
    decide = queries.decide_by_resource_type if permission.any_name else queries.decide
    return question, decide(question)


def checklist_remedy(checklist: Checklist, queries: Queries) -> Remedy | None:
    """Changes that together grant all missing permissions; None if no changes are needed or
    found."""
    acls = dict.fromkeys(queries.acls)
    powers: dict[str, None] = {}
    ends_default = False
    needs = len(checklist.steps)
    for _ in range(needs + 1):
        lines = check(checklist, queries.assuming(acls.keys()))
        missing = [line for line in lines if line.required and not line.decision.result]
        if not missing:
            before = frozenset(queries.acls)
            add = tuple(acl for acl in acls if acl not in before)
            remove = tuple(acl for acl in dict.fromkeys(queries.acls) if acl not in acls)
            whole = Remedy(remove, add, (), ends_default, powers=tuple(powers))
            return whole if add or remove else None
        missing.sort(key=_weakest_last)
        remedy = _remedy_of(missing[0], checklist, queries, tuple(acls))
        if remedy is None:
            return None
        ends_default = ends_default or remedy.ends_default
        powers |= dict.fromkeys(remedy.powers)
        for acl in remedy.remove:
            del acls[acl]
        acls.update(dict.fromkeys(remedy.add))
    return None


def _weakest_last(line: ChecklistLine) -> tuple[bool, bool]:
    """READ and WRITE imply DESCRIBE, so DESCRIBE comes later. WRITE on the named topic meets needs
    on any name, so such needs come last."""
    return line.any_name, line.question.operation is Operation.DESCRIBE


def _remedy_of(
    line: ChecklistLine, checklist: Checklist, queries: Queries, acls: tuple[Acl, ...]
) -> Remedy | None:
    remedies = [
        remedy
        for question in _alternatives(line, checklist)
        for remedy in explain(acls, queries.context.config, question).remedies
        if remedy.mends is None and remedy.use is None and remedy.commands is not None
    ]
    return min(
        remedies, key=lambda remedy: (bool(remedy.powers), remedy.ends_default), default=None
    )


def _alternatives(line: ChecklistLine, checklist: Checklist) -> Iterator[Question]:
    """The need's questions on named resources."""
    if line.any_name:
        name = checklist.named.get(line.question.resource_type)
        if name is not None:
            yield line.question._replace(resource_name=name)
    else:
        yield line.question
    for permission in line.denied:
        yield line.question._replace(
            operation=permission.operation,
            resource_type=permission.resource_type,
            resource_name=checklist.named[permission.resource_type],
        )

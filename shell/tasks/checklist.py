"""Checks every permission that a producer, a consumer or a single request needs.

This module must not know how one question is answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from authorizer.engine.decide import Decision
from authorizer.permissions.table import Permission, PermissionNeed, PermissionStep
from authorizer.trace import Question
from metalog.acl import ResourceType
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
    """A permission that the task needs, for the requests ``apis``, and the answer.

    ``question`` is the alternative that decided: the allowed one, or the last. ``denied`` are the
    alternatives that were tried before it. ``untried`` are alternatives on resources that are not
    named. A need that is not ``required`` does not change the result.
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
    """The answer for each need of the checklist, once, with all requests that have the need."""
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

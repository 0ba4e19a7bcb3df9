"""Finds the changes that make a whole checklist pass, and verifies them together.

This module must not know how a checklist is read or shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from authorizer.analysis.explain.explain import explain
from authorizer.analysis.remedies.remedies import Remedy
from authorizer.trace import Question
from metalog.acl import Acl, Operation
from shell.tasks.checklist import Checklist, ChecklistLine, check

if TYPE_CHECKING:
    from shell.tasks.queries import Queries


def checklist_remedy(checklist: Checklist, queries: Queries) -> Remedy | None:
    """Changes after which all required permissions are allowed; None if no changes are needed or
    found."""
    acls = dict.fromkeys(queries.acls)
    powers: dict[str, None] = {}
    shuts_out = False
    needs = len(checklist.steps)
    for _ in range(needs + 1):
        lines = check(checklist, queries.assuming(acls.keys()))
        missing = [line for line in lines if line.required and not line.decision.result]
        if not missing:
            before = frozenset(queries.acls)
            add = tuple(acl for acl in acls if acl not in before)
            remove = tuple(acl for acl in dict.fromkeys(queries.acls) if acl not in acls)
            whole = Remedy(remove, add, (), shuts_out, powers=tuple(powers))
            return whole if add or remove else None
        missing.sort(key=_weakest_last)
        remedy = _remedy_of(missing[0], checklist, queries, tuple(acls))
        if remedy is None:
            return None
        shuts_out = shuts_out or remedy.ends_default
        powers |= dict.fromkeys(remedy.powers)
        for acl in remedy.remove:
            del acls[acl]
        acls.update(dict.fromkeys(remedy.add))
    return None


def _weakest_last(line: ChecklistLine) -> tuple[bool, bool]:
    """A sort key: a remedy for one need may also meet later needs. DESCRIBE comes late, because
    READ and WRITE imply it. Needs on ``any name`` come last, because WRITE on the named topic meets
    them."""
    return line.any_name, line.question.operation is Operation.DESCRIBE


def _remedy_of(
    line: ChecklistLine, checklist: Checklist, queries: Queries, acls: tuple[Acl, ...]
) -> Remedy | None:
    """A change that meets the need; if possible, one without dangerous rights (``powers``)."""
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
    """The questions on named resources. The need is met if one of them is allowed."""
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

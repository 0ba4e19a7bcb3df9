"""Checks whether a planned change of ACLs still has its planned effect.

The effect is the set of requests whose decision the change reverses. ACLs that were added or
removed after the planning can change the effect. This module must not know where ACLs come from,
nor how a plan is saved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from authorizer.analysis.access.coverage import MatchedNames
from authorizer.analysis.cells.difference import ComparedCell, SetComparison
from authorizer.analysis.cells.names import NameClass
from authorizer.config import AuthorizerConfig
from authorizer.trace import Question, mismatches, reaches
from metalog.acl import Acl, Operation


class SetChange(NamedTuple):
    added: frozenset[Acl]
    removed: frozenset[Acl]

    def applied(self, acls: Collection[Acl]) -> set[Acl]:
        return {*acls, *self.added} - self.removed

    def undone(self, acls: Collection[Acl]) -> set[Acl]:
        return {*acls, *self.removed} - self.added


class OtherEffect(NamedTuple):
    """Because ``acl`` was added or removed, the change does not affect ``question`` as planned.

    ``question`` represents all names in ``names``. If not ``is_named``, it also represents all
    principals that are in no ACL. ``planned`` and ``now`` have the decisions before and after the
    change; True is ALLOWED.
    """

    acl: Acl
    question: Question
    names: NameClass
    is_named: bool
    planned: tuple[bool, bool]
    now: tuple[bool, bool]


def reached_by(acls: Collection[Acl], changed: Iterable[Acl]) -> list[Acl]:
    """The ``acls``, in order, whose pattern overlaps the pattern of an ACL in ``changed``."""
    reached = MatchedNames(changed)
    return [acl for acl in acls if reached.meets(acl)]


def other_effects(
    before: Collection[Acl], now: Collection[Acl], change: SetChange, config: AuthorizerConfig
) -> Iterator[OtherEffect]:
    """At most one effect for each ACL that only one of ``before`` and ``now`` has.

    ``before`` has the ACLs when ``change`` was planned, ``now`` the present ACLs. A decision that
    another change has already reversed as planned does not count.
    """
    differing = sorted(set(before) ^ set(now))
    if not differing:
        return
    compared = SetComparison(now, change.applied(now), config, other_acls=before)
    planned = [compared.answers_by(each) for each in (before, change.applied(before))]
    for _, cells in compared.compared():
        for cell in cells:
            was, will = (answers(cell) for answers in planned)
            planned_reversals = was ^ will
            other = (planned_reversals & (will ^ cell.after)) | (
                ~planned_reversals & (cell.before ^ cell.after)
            )
            for operation in Operation if other else ():
                if other >> operation & 1:
                    effects = _effects(cell, operation, (was, will), differing, config)
                    for effect in effects:
                        differing.remove(effect.acl)
                        yield effect


def _effects(
    cell: ComparedCell,
    operation: Operation,
    planned: tuple[int, int],
    differing: Iterable[Acl],
    config: AuthorizerConfig,
) -> list[OtherEffect]:
    """One effect for each ACL in ``differing`` that matches the cell's requests.

    With ``allow_everyone``, every ACL whose pattern matches the cell's name counts.
    """
    session = cell.session
    question = session.question(1 << operation, cell.name)
    who = question.subject(config.kafka)
    before, after = (bool(each >> operation & 1) for each in planned)
    now = bool(cell.before >> operation & 1), bool(cell.after >> operation & 1)
    return [
        OtherEffect(acl, question, cell.names, session.is_named, (before, after), now)
        for acl in differing
        if reaches(acl, session.kind, cell.name)
        and (config.allow_everyone or not mismatches(acl, who, operation))
    ]

"""Finds the change of ACLs that led to the present decision.

This module must not know where the changes are read from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from authorizer.config import AuthorizerConfig
from authorizer.history.timeline import TimelineChange, taking_effect_together
from authorizer.trace import Question, is_allow, mismatches, reaches
from metalog.acl import Acl
from metalog.ids import Uuid


class Cause(Enum):
    ADDED = "ADDED"
    REMOVED = "REMOVED"
    START = "START"
    """The decision has not changed since the start of the history."""


class Since(NamedTuple):
    """The change that led to the decision: the record at ``offset`` added or removed ``acl``.

    ``acl`` is None for START. ``at`` is the lowest offset whose state (``--at``) includes the
    change.
    """

    offset: int
    cause: Cause
    acl: Acl | None
    at: int


class DecisionChange(NamedTuple):
    """``change`` added or removed ``acl``; ``allowed`` is the new decision."""

    allowed: bool
    cause: Cause
    acl: Acl | None
    change: TimelineChange


def since(
    start: int,
    base: Iterable[tuple[Uuid, Acl]],
    changes: Iterable[TimelineChange],
    config: AuthorizerConfig,
    question: Question,
) -> Since:
    """The change that led to the decision after all ``changes``.

    ``base`` has the ACLs before the record at ``start``, such as a snapshot's ACLs. ``changes`` has
    all changes from ``start`` on, in log order.
    """
    began = Since(start, Cause.START, None, start)
    for _, cause, acl, change in DecisionChanges(base, config, question).following(changes):
        began = Since(change.offset, cause, acl, change.at)
    return began


class DecisionChanges:
    """Finds the changes of one decision. ``allowed`` is the decision after the changes so far."""

    def __init__(
        self, base: Iterable[tuple[Uuid, Acl]], config: AuthorizerConfig, question: Question
    ) -> None:
        self._acls = _ReachingAcls(config, question)
        for uuid, acl in base:
            self._acls.bind(uuid, acl)
        self.allowed = self._acls.allowed

    def following(self, changes: Iterable[TimelineChange]) -> Iterator[DecisionChange]:
        """The changes of the decision. ``changes`` continue where the last call's changes ended."""
        for group in taking_effect_together(changes):
            found = self._after(group)
            if found is not None:
                yield found

    def _after(self, group: Iterable[TimelineChange]) -> DecisionChange | None:
        """The last change of the decision in ``group``; None if ``group`` does not reverse it."""
        acls, allowed, last = self._acls, self.allowed, None
        for change in group:
            before = acls.unbind(change.id)
            if change.acl is not None:
                acls.bind(change.id, change.acl)
            if acls.allowed is not allowed:
                allowed = acls.allowed
                cause = Cause.REMOVED if change.acl is None else Cause.ADDED
                last = DecisionChange(allowed, cause, change.acl or before, change)
        if allowed is self.allowed:
            return None
        self.allowed = allowed
        return last


class _ReachingAcls:
    """Keeps only the ACLs that reach the resource, so that a change costs little."""

    def __init__(self, config: AuthorizerConfig, question: Question) -> None:
        self._question = question
        self._who = question.subject(config.kafka)
        self._is_super_user = question.principal in config.super_users
        self._allow_everyone = config.allow_everyone
        self._reaching: dict[Uuid, Acl] = {}
        self._allows = 0
        self._denies = 0

    def bind(self, id: Uuid, acl: Acl) -> None:
        self.unbind(id)
        if reaches(acl, self._question.resource_type, self._question.resource_name):
            self._reaching[id] = acl
            self._count(acl, 1)

    def unbind(self, id: Uuid) -> Acl | None:
        acl = self._reaching.pop(id, None)
        if acl is not None:
            self._count(acl, -1)
        return acl

    def _count(self, acl: Acl, step: int) -> None:
        if mismatches(acl, self._who, self._question.operation):
            return
        if is_allow(acl):
            self._allows += step
        else:
            self._denies += step

    @property
    def allowed(self) -> bool:
        if self._is_super_user:
            return True
        if self._denies:
            return False
        if self._allows:
            return True
        return self._allow_everyone and not self._reaching

"""Counts the logged requests whose decision a plan would change.

This module must not know how that is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from metalog.plurals import counted
from metalog.visible_text import shown

if TYPE_CHECKING:
    from authorizer.trace import Question
    from metalog.acl import Acl
    from shell.tasks.plans.planned import Planned
    from shell.tasks.questions import QuestionGroup


class ChangedAnswers(NamedTuple):
    """Requests of the audit log that would get another answer than now."""

    group: QuestionGroup
    was: bool


class Audit(NamedTuple):
    """``bad`` lines of the log could not be read."""

    turned: list[ChangedAnswers]
    requests: int
    bad: int = 0

    @property
    def broken(self) -> list[ChangedAnswers]:
        """The requests that are allowed now and would be denied."""
        return [each for each in self.turned if each.was]

    def said(self) -> str:
        times = sum(each.group.times for each in self.turned)
        return f"{times:,} of {counted(self.requests, 'request')} would get another answer."


def audited(made: Planned, groups: Iterable[QuestionGroup]) -> Audit:
    """Each question once, however it was answered when it was logged."""
    before, after = (_decider(acls, made) for acls in (made.current, made.after))
    turned: dict[Question, ChangedAnswers] = {}
    requests = 0
    for group in groups:
        requests += group.times
        was = before(group)
        if was is not after(group):
            known = turned.get(
                group.asked.question, ChangedAnswers(group._replace(times=0), was)
            ).group
            times = known.times + group.times
            turned[group.asked.question] = ChangedAnswers(known._replace(times=times), was)
    found = sorted(turned.values(), key=lambda each: (-each.group.times, each.group.line))
    return Audit(found, requests)


def _decider(acls: Collection[Acl], made: Planned) -> Callable[[QuestionGroup], bool]:
    from authorizer.api import Action, RequestContext, ResourcePattern
    from authorizer.standard import StandardAuthorizer

    config = made.config
    authorizer = StandardAuthorizer.from_acls(
        acls,
        super_users=config.super_users,
        allow_everyone=config.allow_everyone,
        kafka_version=config.kafka.value,
        tolerant=True,
    )

    def allowed(group: QuestionGroup) -> bool:
        question = group.asked.question
        resource = ResourcePattern(question.resource_type, question.resource_name)
        context = RequestContext(question.principal, question.host or "")
        return authorizer.is_allowed(context, Action(question.operation, resource))

    return allowed


def asked_words(turned: ChangedAnswers) -> Iterator[str]:
    """Who asks, for what, and from where."""
    question = turned.group.asked.question
    yield shown(question.principal)
    yield f"{question.operation.name} on {question.resource_type.name} " + shown(
        question.resource_name
    )
    yield f"from {shown(question.host or '')}"

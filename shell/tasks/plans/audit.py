"""Finds the requests whose decision a plan would change.

This module must not know how a result is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from metalog.acl import SUPPORTED_OPERATIONS
from metalog.errors import InvalidRequest
from metalog.text.plurals import counted
from metalog.text.visible_text import shown
from shell.tasks.queries import authorizer_of

if TYPE_CHECKING:
    from authorizer.api import Action, RequestContext
    from authorizer.trace import Question
    from metalog.acl import Acl
    from shell.tasks.plans.planned import Planned
    from shell.tasks.questions import QuestionGroup


_MOST_CELLS: Final = 500_000
"""Above this number of cells, only logged requests are compared."""


class ChangedAnswers(NamedTuple):
    """Equal requests whose answer the plan would change. ``are_allowed`` is the answer now."""

    group: QuestionGroup
    are_allowed: bool


class Audit(NamedTuple):
    """``turned`` are the requests whose answer would change. ``requests`` counts all requests;
    ``bad`` counts lines that are not requests."""

    turned: list[ChangedAnswers]
    requests: int
    bad: int = 0

    @property
    def broken(self) -> list[ChangedAnswers]:
        return [request for request in self.turned if request.are_allowed]

    def text(self) -> str:
        times = sum(request.group.times for request in self.turned)
        return f"{times:,} of {counted(self.requests, 'request')} would get another answer."


def audited(made: Planned, groups: Iterable[QuestionGroup]) -> Audit:
    """Compare the present and the planned answers, not the logged answers."""
    authorizers = [authorizer_of(acls, made.config) for acls in (made.current, made.after)]
    turned: dict[Question, ChangedAnswers] = {}
    requests = 0
    for group in groups:
        requests += group.times
        question = group.parsed.question
        was, will_be = (each.is_allowed(*_request(question)) for each in authorizers)
        if was is not will_be:
            changed = turned.get(question, ChangedAnswers(group._replace(times=0), was)).group
            times = changed.times + group.times
            turned[question] = ChangedAnswers(changed._replace(times=times), was)
    most_frequent = sorted(turned.values(), key=lambda each: (-each.group.times, each.group.line))
    return Audit(most_frequent, requests)


def acls_of_difference(
    made: Planned, other: Planned, groups: Iterable[QuestionGroup]
) -> Iterator[Acl | None]:
    """The deciding ACLs of a request whose answer the plan changes under only one Kafka version.

    ``made`` and ``other`` are the plan under both versions. A request of ``groups`` is preferred.
    """
    sides = [(plan, acls) for plan in (made, other) for acls in (plan.current, plan.after)]
    authorizers = [authorizer_of(acls, plan.config) for plan, acls in sides]
    logged = (group.parsed.question for group in groups)
    for question in chain(logged, _of_each_kind(made, other)):
        decisions = [each.decide(*_request(question)) for each in authorizers]
        before, after, other_before, other_after = (each.result for each in decisions)
        if (before is after) is not (other_before is other_after):
            yield from (each.acl for each in decisions)
            return


def _of_each_kind(made: Planned, other: Planned) -> Iterator[Question]:
    """One question for each kind of request whose answer the plan changes under only one version.
    The version that matches CIDR blocks distinguishes more kinds, so it defines the kinds."""
    from authorizer.analysis.cells.difference import SetComparison
    from authorizer.engine.cache.decision_cache import DecisionContext
    from authorizer.engine.index import AclIndex
    from authorizer.trace import Question

    newest, oldest = (made, other) if made.config.kafka.matches_blocks else (other, made)
    try:
        compared = SetComparison(made.current, made.after, newest.config, _MOST_CELLS)
    except InvalidRequest:
        return
    before, after = (
        DecisionContext(AclIndex.of(acls), oldest.config, shut_by="")
        for acls in (made.current, made.after)
    )
    for session, cells in compared.compared():
        kind, who = session.kind, (session.clients.client, session.principal)
        old, new = (each.session_cache(kind, who) for each in (before, after))
        for cell in cells:
            turned = old.allowed_on(cell.name) ^ new.allowed_on(cell.name)
            differing = cell.before ^ cell.after ^ turned
            for operation in SUPPORTED_OPERATIONS[kind]:
                if differing >> operation & 1:
                    yield Question(session.principal, operation, kind, cell.name, who[0])


def _request(question: Question) -> tuple[RequestContext, Action]:
    from authorizer.api import Action, RequestContext, ResourcePattern

    resource = ResourcePattern(question.resource_type, question.resource_name)
    context = RequestContext(question.principal, question.host or "")
    return context, Action(question.operation, resource)


def request_words(turned: ChangedAnswers) -> Iterator[str]:
    question = turned.group.parsed.question
    yield shown(question.principal)
    yield f"{question.operation.name} on {question.resource_type.name} " + shown(
        question.resource_name
    )
    yield f"from {shown(question.host or '')}"

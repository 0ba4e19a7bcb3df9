"""Decides the demo's requests with the authorizer's code and the ACLs at each request's time.

This module must not know how often a request is sent, nor where an answer is logged.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple, TypeVar

from authorizer.api import Action, RequestContext, ResourcePattern
from authorizer.audit.line import LOGGER, format_line
from authorizer.config import AuthorizerConfig
from authorizer.engine.cache.decision_cache import DecisionContext
from authorizer.engine.decide import ALLOWED
from authorizer.engine.index import AclIndex, IndexWriter
from authorizer.history.timeline import TimelineChange
from metalog.acl import Acl
from metalog.ids import Uuid
from metalog_spark.demo.traffic import Activity

_PLACEHOLDER: Final = "{name}"
"""Stands for the resource's name, because ``format_line`` escapes a name and Kafka does not."""
_CACHED_PERIODS: Final = 4
_NEVER: Final = 2**63

T = TypeVar("T")


class Answer(NamedTuple):
    """``text`` is the part of the audit line after the time, in Kafka's own layout."""

    is_allowed: bool
    text: str


class Answers:
    """Answers by the number of the activity. They can change at the time ``until``."""

    def __init__(
        self, decision_context: DecisionContext, activities: Sequence[Activity], until: int
    ) -> None:
        self.until = until
        self._decision_context = decision_context
        self._activities = activities
        self._known: dict[int, Answer] = {}

    def __getitem__(self, number: int) -> Answer:
        answer = self._known.get(number)
        if answer is None:
            answer = self._known[number] = self._answer(self._activities[number])
        return answer

    def _answer(self, activity: Activity) -> Answer:
        session = self._decision_context.session_cache(
            activity.resource_type, (activity.host, activity.principal)
        )
        decision = session.decide(activity.operation, activity.name)
        resource = ResourcePattern(activity.resource_type, _PLACEHOLDER)
        line = format_line(
            RequestContext(activity.principal, activity.host, request_name=activity.request_name),
            Action(activity.operation, resource, activity.reference_count),
            decision,
        )
        is_allowed = decision.result is ALLOWED
        level = "DEBUG" if is_allowed else "INFO"
        before, _, after = line.partition(f":{_PLACEHOLDER} ")
        return Answer(is_allowed, f"] {level} {before}:{activity.name} {after} ({LOGGER})\n")


class BrokerDecider:
    """Decides as a broker does, and caches answers.

    ``configurations`` are in order, each with the time from which it is in force.
    """

    def __init__(
        self,
        changes: Iterable[TimelineChange],
        configurations: Sequence[tuple[int, AuthorizerConfig]],
        activities: Sequence[Activity],
    ) -> None:
        self._indexes = [(0, AclIndex.of(())), *_indexes(changes)]
        self._configurations = configurations
        self._activities = activities
        stages = (*self._indexes, *configurations)
        self._begins = sorted({begin for begin, _ in stages})
        self._answers: dict[int, Answers] = {}

    def at(self, time_ms: int) -> Answers:
        """The answers at ``time_ms``, which must not be before the first configuration."""
        place = bisect_right(self._begins, time_ms) - 1
        answers = self._answers.get(place)
        if answers is None:
            if len(self._answers) == _CACHED_PERIODS:
                del self._answers[next(iter(self._answers))]
            answers = self._answers[place] = self._new_answers(place)
        return answers

    def _new_answers(self, place: int) -> Answers:
        begin = self._begins[place]
        index, config = _in_force(self._indexes, begin), _in_force(self._configurations, begin)
        decision_context = DecisionContext(index, config, shut_by="")
        is_last = place + 1 == len(self._begins)
        return Answers(
            decision_context, self._activities, _NEVER if is_last else self._begins[place + 1]
        )


def _indexes(changes: Iterable[TimelineChange]) -> Iterator[tuple[int, AclIndex]]:
    writer = IndexWriter()
    bound: dict[Uuid, Acl] = {}
    for time_ms, group in groupby(changes, key=attrgetter("time_ms")):
        for change in group:
            writer.apply({change.id: change.acl}, bound)
            if change.acl is None:
                del bound[change.id]
            else:
                bound[change.id] = change.acl
        yield time_ms, writer.index


def _in_force(stages: Sequence[tuple[int, T]], time_ms: int) -> T:
    return stages[bisect_right(stages, time_ms, key=itemgetter(0)) - 1][1]

"""Checks whether a planned change of ACLs still has its planned effect.

The effect is the set of requests whose answer the change reverses. ACLs that came or went since
may already have reversed some, or may decide them differently. One request stands for all requests
that the same ACLs reach. This module must not know where ACLs come from, nor how a plan is saved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import product
from typing import Final, NamedTuple

from authorizer.analysis.access.coverage import MatchedNames, meet
from authorizer.analysis.access.host_regions import HostRegion, host_regions
from authorizer.api import Action, RequestContext, ResourcePattern
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import ALLOWS, DENIES
from authorizer.standard import StandardAuthorizer
from authorizer.trace import Question, is_allow, reaches
from metalog.acl import WILDCARD, WILDCARD_PRINCIPAL, Acl, Operation, PatternType

_OTHER: Final = "\0"
"""Ends a name that no ACL names; also stands for a host that no ACL names."""
_OTHER_PRINCIPAL: Final = f"User:{_OTHER}"
_OPERATIONS: Final = tuple(each for each in Operation if each > Operation.ALL)
_MOST_QUESTIONS: Final = 100_000


class SetChange(NamedTuple):
    added: frozenset[Acl]
    removed: frozenset[Acl]

    def applied(self, acls: Collection[Acl]) -> set[Acl]:
        return {*acls, *self.added} - self.removed

    def undone(self, acls: Collection[Acl]) -> set[Acl]:
        return {*acls, *self.removed} - self.added


class OtherEffect(NamedTuple):
    """``acl`` came or went, and so the change would affect ``question`` otherwise than planned.

    Each pair is the answer before and after the change, True for ALLOWED. The question is None if
    there are too many to compare.
    """

    acl: Acl
    question: Question | None = None
    planned: tuple[bool, bool] = (False, False)
    now: tuple[bool, bool] = (False, False)


def reached_by(acls: Collection[Acl], steps: Iterable[Acl]) -> list[Acl]:
    """Those of ``acls`` that reach a resource of one of ``steps``, in their order."""
    reached = MatchedNames(steps)
    return [acl for acl in acls if reached.meets(acl)]


def other_effects(
    before: Collection[Acl], now: Collection[Acl], change: SetChange, config: AuthorizerConfig
) -> Iterator[OtherEffect]:
    """At most one for each ACL that is in only one of ``before`` and ``now``.

    The result is empty if ``change`` reverses the same answers in the same way on ``now`` as on
    ``before``. An answer that somebody else has already changed does not count.
    """
    differing = sorted(set(before) ^ set(now))
    if not differing:
        return
    steps = sorted(change.added | change.removed)
    known = {*before, *now, *steps}
    planned = _Answers(before, change, config)
    current = _Answers(now, change, config)
    asked: set[Question] = set()
    for acl in differing:
        for question in _questions(acl, steps, known, config):
            if question in asked:
                continue
            asked.add(question)
            if len(asked) > _MOST_QUESTIONS:
                yield OtherEffect(acl)
                return
            was, is_now = planned.of(question), current.of(question)
            if _differ(was, is_now):
                yield OtherEffect(acl, question, was, is_now)
                break


def _differ(planned: tuple[bool, bool], now: tuple[bool, bool]) -> bool:
    if planned[0] is not planned[1]:
        return now[1] is not planned[1]
    return now[0] is not now[1]


class _Answers:
    def __init__(self, acls: Collection[Acl], change: SetChange, config: AuthorizerConfig) -> None:
        self._authorizers = [
            StandardAuthorizer.from_acls(
                each,
                super_users=config.super_users,
                allow_everyone=config.allow_everyone,
                kafka_version=config.kafka.value,
            )
            for each in (acls, change.applied(acls))
        ]

    def of(self, question: Question) -> tuple[bool, bool]:
        """The answer before the change and after it."""
        context = RequestContext(question.principal, question.host or _OTHER)
        resource = ResourcePattern(question.resource_type, question.resource_name)
        action = Action(question.operation, resource)
        before, after = (each.is_allowed(context, action) for each in self._authorizers)
        return before, after


def _questions(
    acl: Acl, steps: Iterable[Acl], known: Iterable[Acl], config: AuthorizerConfig
) -> Iterator[Question]:
    """One question for each set of ACLs that can decide on the resources of both ``acl`` and a
    step. If resources without ACLs are open, the first ACL on one closes it to everybody."""
    near = [each for each in known if meet(each, acl)]
    names = [name for name in _names(near) if reaches(acl, acl.resource_type, name)]
    everybody = [*sorted({each.principal for each in near} - {WILDCARD_PRINCIPAL})]
    regions = host_regions(sorted({each.host for each in near}), config.kafka)
    for step in steps:
        if not meet(step, acl):
            continue
        if config.allow_everyone:
            principals = [*everybody, _OTHER_PRINCIPAL]
            hosts = [*(region.client for region in regions), _OTHER]
            operations: Iterable[Operation] = _OPERATIONS
        else:
            principals = _common(
                acl.principal, step.principal, WILDCARD_PRINCIPAL, everybody, _OTHER_PRINCIPAL
            )
            hosts = _clients_of_both(acl.host, step.host, regions)
            operations = _operations(_decided(acl) & _decided(step))
        if not (principals and hosts and operations):
            continue
        is_one = step.pattern_type is PatternType.LITERAL and step.resource_name != WILDCARD
        near_names = [step.resource_name] if is_one else names
        reached = (name for name in near_names if reaches(step, acl.resource_type, name))
        for name, principal, host, operation in product(reached, principals, hosts, operations):
            at = None if host == _OTHER else host
            yield Question(principal, operation, acl.resource_type, name, at)


def _names(acls: Iterable[Acl]) -> list[str]:
    """The names in ``acls``, and one more below each prefix and outside of all."""
    literals: set[str] = set()
    prefixes = {"", WILDCARD}
    for acl in acls:
        named = literals if acl.pattern_type is PatternType.LITERAL else prefixes
        named.add(acl.resource_name)
    return sorted(literals | {prefix + _OTHER for prefix in prefixes})


def _clients_of_both(one: str, other: str, regions: Iterable[HostRegion]) -> list[str]:
    """A client of each region where both hosts match, and one that no ACL names."""
    hosts = {one, other} - {WILDCARD}
    return [
        *(region.client for region in regions if hosts <= region.matching),
        *(() if hosts else (_OTHER,)),
    ]


def _common(one: str, other: str, wildcard: str, all_of_them: list[str], fresh: str) -> list[str]:
    """The common part of two principals or hosts."""
    if one != wildcard and other != wildcard:
        return [one] if one == other else []
    if one == other:
        return [*all_of_them, fresh]
    return [one if other == wildcard else other]


def _decided(acl: Acl) -> int:
    return ALLOWS[acl.operation] if is_allow(acl) else DENIES[acl.operation]


def _operations(mask: int) -> list[Operation]:
    return [each for each in _OPERATIONS if mask >> each & 1]

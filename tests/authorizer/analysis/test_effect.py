"""Whether a planned change still has its effect: compared with all requests of a small world."""

from __future__ import annotations

from itertools import product, starmap
from random import Random

import pytest

from authorizer.analysis.changes.effect import OtherEffect, SetChange, other_effects, reached_by
from authorizer.config import AuthorizerConfig
from authorizer.trace import Question, trace
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType

GROUP = ResourceType.GROUP
NAMES = ["a", "ab", "abc", "b", "*", "*a"]
ACLS = list(
    starmap(
        Acl,
        product(
            [GROUP],
            NAMES,
            [PatternType.LITERAL, PatternType.PREFIXED],
            ["User:a", "User:b", "User:*"],
            ["*", "10.0.0.1"],
            [Operation.READ, Operation.DESCRIBE, Operation.ALL],
            [PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY],
        ),
    )
)
QUESTIONS = list(
    starmap(
        Question,
        product(
            ["User:a", "User:b", "User:c"],
            [Operation.READ, Operation.DESCRIBE, Operation.DELETE],
            [GROUP],
            [*NAMES, "abcd", "c", "*ab"],
            [None, "10.0.0.1"],
        ),
    )
)


class World:
    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.before = set(random.sample(ACLS, random.randrange(6)))
        steps = set(random.sample(ACLS, random.randrange(1, 3)))
        self.change = SetChange(frozenset(steps - self.before), frozenset(steps & self.before))
        others = set(random.sample(ACLS, random.randrange(1, 3))) - steps
        self.now = self.before ^ others
        self.config = AuthorizerConfig(allow_everyone=random.random() < 0.3)
        self.asked = random.sample(QUESTIONS, 40)

    def effects(self) -> list[OtherEffect]:
        steps = self.change.added | self.change.removed
        before, now = (reached_by(sorted(each), steps) for each in (self.before, self.now))
        return list(other_effects(before, now, self.change, self.config))

    def answers(self, acls: set[Acl], question: Question) -> tuple[bool, bool]:
        return (
            trace(acls, self.config, question).allowed,
            trace(self.change.applied(acls), self.config, question).allowed,
        )

    def is_other(self, question: Question) -> bool:
        planned, now = (self.answers(each, question) for each in (self.before, self.now))
        if planned[0] is not planned[1]:
            return now[1] is not planned[1]
        return now[0] is not now[1]


def test_all_that_differs_is_found_and_nothing_else() -> None:
    found = 0
    for seed in range(220):
        world = World(seed)
        effects = world.effects()
        for each in effects:
            assert world.is_other(each.question), seed
            assert each.acl in world.before ^ world.now, seed
            planned = world.answers(world.before, each.question)
            assert (planned, world.answers(world.now, each.question)) == each[4:], seed
        if not effects:
            assert not any(map(world.is_other, world.asked)), seed
        found += bool(effects)
    assert 30 < found < 190


def acl(text: str) -> Acl:
    principal, operation, pattern, permission = text.split()
    prefixed = pattern.endswith("…")
    return Acl(
        GROUP,
        pattern.removesuffix("…"),
        PatternType.PREFIXED if prefixed else PatternType.LITERAL,
        f"User:{principal}",
        "*",
        Operation[operation],
        PermissionType[permission],
    )


@pytest.mark.parametrize(
    ("step", "other", "turned"),
    [
        ("a READ t ALLOW", "b READ t ALLOW", None),
        ("a READ t ALLOW", "a READ u ALLOW", None),
        ("a READ t ALLOW", "a DELETE t ALLOW", None),
        ("a READ t ALLOW", "* ALL t… DENY", ("User:a", "READ", "t")),
        ("* READ pay… ALLOW", "* READ pay-x… DENY", ("User:somebody", "READ", "pay-x")),
        ("* READ pay… ALLOW", "* DELETE pay-x… DENY", None),
    ],
)
def test_what_an_added_acl_means_for_a_planned_one(
    step: str, other: str, turned: tuple[str, str, str] | None
) -> None:
    """Another ALLOW of the same access takes nothing away; a DENY does."""
    change = SetChange(frozenset({acl(step)}), frozenset())
    found = list(other_effects([], [acl(other)], change, AuthorizerConfig()))
    assert len(found) == (turned is not None)
    for each in found:
        question = each.question
        assert (question.principal, question.operation.name, question.resource_name) == turned
        assert each.is_named is (question.principal != "User:somebody")
        assert (each.planned, each.now) == ((False, True), (False, False))


def test_taking_the_last_grant_is_another_effect_than_taking_one_of_two() -> None:
    wide, narrow = acl("a READ pay… ALLOW"), acl("a READ pay-x ALLOW")
    change = SetChange(frozenset(), frozenset({narrow}))
    (found,) = other_effects([wide, narrow], [narrow], change, AuthorizerConfig())
    assert (found.acl, found.planned, found.now) == (wide, (True, True), (True, False))

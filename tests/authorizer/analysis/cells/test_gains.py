"""Compares the found gains and losses of a change with those of every combination."""

from __future__ import annotations

from itertools import product
from random import Random

from authorizer.analysis.cells.gains import prove_gains, unplanned_losses
from authorizer.analysis.cells.sessions import Requests, checked_operations
from authorizer.api import RequestContext
from authorizer.engine.decide import AuthorizationResult
from authorizer.standard import StandardAuthorizer
from metalog.acl import Acl, Operation, PatternType, ResourceType
from tests.support.worlds.random_worlds import (
    CLIENTS,
    PRINCIPALS,
    Answers,
    World,
    acl,
    acls,
    is_about,
    is_from,
    requests,
    world,
)


def gained(small: World, before: Answers, after: Answers, stated: list[Requests]) -> bool:
    asked = checked_operations(small.kind)
    for principal, client in product(PRINCIPALS, CLIENTS):
        who = small.kind, principal, client, small.names
        near = [
            each
            for each in stated
            if each.principals.holds(principal) and is_from(each.hosts, client)
        ]
        for name, was, is_now in zip(small.names, before.on(*who), after.on(*who), strict=True):
            gains = is_now & ~was & asked
            for each in near if gains else ():
                if is_about(each, name):
                    gains &= ~each.operations
            if gains:
                return True
    return False


def changed(random: Random, small: World, before: list[Acl]) -> list[Acl]:
    after = [each for each in before if random.random() < 0.8]
    return [*after, *(acl(random, small) for _ in range(random.randint(0, 2)))]


def test_a_gain_beyond_what_is_stated_is_that_of_every_combination() -> None:
    random = Random(4)
    seen = set()
    for number in range(45):
        small = world(random, 3)
        before = acls(random, small)
        after = changed(random, small, before)
        stated = [requests(random, small) for _ in range(random.randint(0, 3))]
        found = prove_gains(before, after, small.config, stated)
        sides = [Answers(each, small.config) for each in (before, after)]
        # Which names a topic can have, and what is asked by type, are other tests'.
        is_gained = gained(small, sides[0], sides[1], stated)
        questions = [each for each in found.witnesses if each.resource_name]
        assert bool(questions) is is_gained, (number, stated, before, after)
        for question in questions:
            who = question.resource_type, question.principal, question.host or ""
            was, is_now = (each.on(*who, [question.resource_name])[0] for each in sides)
            assert (is_now & ~was) >> question.operation & 1
        seen.add((bool(stated), is_gained))
    assert len(seen) == 4


def test_a_producer_that_may_begin_beyond_what_is_stated_is_that_of_every_combination() -> None:
    """InitProducerId asks by resource type (KIP-679), and no topic has these names."""
    random = Random(12)
    seen = set()
    patterns = (("no topic", PatternType.LITERAL), ("*a", PatternType.PREFIXED))
    for number in range(120):
        small = world(random, 3)._replace(kind=ResourceType.TOPIC)
        after = [
            acl(random, small)._replace(
                resource_name=name, pattern_type=pattern, operation=Operation.WRITE
            )
            for name, pattern in random.choices(patterns, k=random.randint(1, 2))
        ]
        stated = [requests(random, small) for _ in range(random.randint(0, 2))]
        config = small.config._replace(allow_everyone=False)
        authorizer = StandardAuthorizer.from_acls(
            after, super_users=config.super_users, kafka_version=config.kafka.value, tolerant=True
        )
        is_gained = any(
            authorizer.authorize_by_resource_type(
                RequestContext(principal, client), Operation.WRITE, ResourceType.TOPIC
            )
            is AuthorizationResult.ALLOWED
            and principal not in config.super_users
            and not any(
                each.operations >> Operation.WRITE & 1
                and each.principals.holds(principal)
                and is_from(each.hosts, client)
                for each in stated
            )
            for principal, client in product(PRINCIPALS, CLIENTS)
        )
        found = prove_gains([], after, config, stated)
        assert bool(found.witnesses) is is_gained, (number, stated, after)
        seen.add((len(stated), is_gained))
    assert len(seen) == 6


def test_a_loss_that_was_not_planned_is_that_of_every_combination() -> None:
    random = Random(9)
    seen = set()
    for number in range(45):
        small = world(random, 3)
        sets = [acls(random, small)]
        sets.append(changed(random, small, sets[0]))  # as planned
        sets.append(changed(random, small, sets[0]))  # as it is now
        sets.append(changed(random, small, sets[2]))
        answers = [Answers(each, small.config) for each in sets]
        found = list(unplanned_losses(sets[2], sets[3], (sets[0], sets[1]), small.config))
        asked = checked_operations(small.kind)
        is_lost = False
        for principal, client in product(PRINCIPALS, CLIENTS):
            columns = [each.on(small.kind, principal, client, small.names) for each in answers]
            for planned, then, now, after in zip(*columns, strict=True):
                is_lost = is_lost or bool(now & ~after & ~(planned & ~then) & asked)
        assert bool(found) is is_lost, (number, sets)
        seen.add(is_lost)
    assert len(seen) == 2

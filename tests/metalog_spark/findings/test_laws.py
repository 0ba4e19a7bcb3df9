"""Laws for the findings of any day of random traffic and changing ACLs, compared with the spec's
linear scan, request by request."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog_spark.findings.least_privilege import least_set
from metalog_spark.findings.unused import ClassifiedAcls, classified_acls
from metalog_spark.findings.usage.acl_lifetimes import AclLifetimes, acl_of
from metalog_spark.findings.usage.minimal_cover import CoverLimits
from metalog_spark.findings.usage.usage_classes import (
    Conditions,
    ObservedUse,
    Request,
    UsageState,
    tally,
    verdicts,
)
from metalog_spark.findings.what_if import what_if
from metalog_spark.findings.windows.window import Window, window_of
from tests.support.spark.small_pipeline import Ask, World, edge, life
from tests.support.worlds import spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from metalog_spark.store.table_store import Tables

NAMES = ["a.b", "a.c", "a.d", "b-x", "b-y", "b-z", "c"]
PATTERNS = [
    *((name, PatternType.LITERAL) for name in (*NAMES, "*")),
    *((name, PatternType.PREFIXED) for name in ("a.", "b-", "", "c")),
]
PRINCIPALS = ["User:a", "User:b", "User:c", "User:d"]
HOSTS = ["10.0.0.1", "10.0.0.2"]
OPERATIONS = [Operation.READ, Operation.WRITE, Operation.DESCRIBE]
SEED = 7


def some_world(seed: int) -> World:
    random = Random(seed)
    lifetimes = []
    for number in range(1, 40):
        name, pattern = random.choice(PATTERNS)
        acl = Acl(
            ResourceType.TOPIC,
            name,
            pattern,
            random.choice([*PRINCIPALS, "User:*"]),
            random.choice(["*", "*", *HOSTS]),
            random.choice([*OPERATIONS, Operation.ALL]),
            random.choice([PermissionType.DENY, *[PermissionType.ALLOW] * 5]),
        )
        begin = random.choice([None, None, None, random.uniform(1, 20)])
        end = random.choice([None, None, None, random.uniform(20, 23)])
        lifetimes.append(life(number, acl, begin, end))
    asks = [
        Ask(
            random.choice(PRINCIPALS),
            random.choice(OPERATIONS),
            random.choice(NAMES),
            random.randrange(24 * 4) / 4,
            random.randrange(1, 5),
            host=random.choice(HOSTS),
        )
        for _ in range(150)
    ]
    return World(tuple(lifetimes), tuple(asks), super_users=("User:d",))


class Replay:
    """The spec's decisions on a world's requests by different sets of ACLs."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.today = {each.acl for each in world.lifetimes if each.end is None}

    def held_at(self, hour: float) -> set[Acl]:
        minute = int(hour * 60)
        offset = max((edge for edge in self.world._edges() if edge <= minute), default=0)
        return {each.acl for each in self.world.lifetimes if each.holds_at(offset)}

    def says(self, acls: set[Acl], ask: Ask) -> str:
        if ask.principal in self.world.super_users:
            return "ALLOWED"
        who = (frozenset({ask.principal}), ask.host)
        decision = spec.decide(acls, who, ask.operation, ask.kind, ask.name, False)
        return str(decision.result.value)

    def holds_without(self, going: set[Acl]) -> None:
        for ask in self.world.asks:
            held = self.held_at(ask.hour)
            assert self.says(held, ask) == self.says(held - going, ask)
            assert self.says(self.today, ask) == self.says(self.today - going, ask)


class Case(Replay):
    def __init__(self, world: World, tables: Tables) -> None:
        super().__init__(world)
        self.tables = tables
        self.window: Window = window_of(tables)
        self.classified: ClassifiedAcls = classified_acls(tables, self.window)


@pytest.fixture(scope="module")
def case(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder: Path = tmp_path_factory.mktemp("laws") / "world"
    world = some_world(SEED)
    return Case(world, world.folder(spark, folder))


def test_every_used_acl_was_in_force_at_its_use(case: Case) -> None:
    used = [each for each in case.classified.verdicts if each.observed is ObservedUse.USED]
    assert used
    for verdict in used:
        assert verdict.uses is not None
        hour = (verdict.uses.first_us - case.window.start_us) / 3_600_000_000
        assert verdict.acl in case.held_at(hour)


def test_what_can_go_goes_all_at_once_and_no_answer_changes(case: Case) -> None:
    going = {each.acl for each in case.classified.verdicts if each.can_go}
    assert going
    case.holds_without(going)


@pytest.mark.parametrize("seed", range(20))
def test_so_it_is_in_other_worlds(seed: int) -> None:
    """Without Spark, since partial counts add up."""
    world = some_world(seed)
    lifetimes = AclLifetimes(world.lifetimes)
    said = tally(lifetimes, (request(ask, world._decided(ask)) for ask in world.asks))
    day = Conditions(
        edge(0).time_ms,
        edge(24).time_ms,
        known_from_ms=edge(-24).time_ms,
        is_allowed_seen=True,
        is_any_seen=True,
        is_controller_seen=True,
    )
    Replay(world).holds_without(
        {each.acl for each in verdicts(lifetimes, said, day) if each.can_go}
    )


def request(ask: Ask, decided: dict[str, Any]) -> Request:
    asked = ask.principal, ask.host, ask.operation.name, ask.kind.name, ask.name
    us = edge(ask.hour).time_ms * 1000
    answer = (decided[name] for name in ("result", "log_offset", "decided", "acl_id"))
    return Request(asked, *answer, known=True, requests=ask.times, first_us=us, last_us=us)


def test_every_acl_of_the_window_has_one_verdict_and_every_request_was_counted(case: Case) -> None:
    verdicts = case.classified.verdicts
    assert {each.acl for each in verdicts} == {each.acl for each in case.world.lifetimes}
    assert len(verdicts) == len({each.acl for each in verdicts})
    decided = sum(each.uses.requests for each in verdicts if each.uses is not None)
    by_acls = [ask for ask in case.world.asks if ask.principal not in case.world.super_users]
    unmatched = [
        ask for ask in by_acls if not any(self_matches(acl, ask) for acl in case.held_at(ask.hour))
    ]
    assert decided == sum(ask.times for ask in by_acls) - sum(ask.times for ask in unmatched)
    totals = case.classified.totals
    assert totals.requests == sum(ask.times for ask in case.world.asks)
    states = [each.state for each in verdicts if each.is_alive]
    assert states.count(UsageState.USED) >= totals.used


def self_matches(acl: Acl, ask: Ask) -> bool:
    who = (frozenset({ask.principal}), ask.host)
    decision = spec.decide({acl}, who, ask.operation, ask.kind, ask.name, False)
    return decision.acl is not None


def test_the_least_set_changes_no_allowed_answer_and_allows_nothing_more(case: Case) -> None:
    found = least_set(case.tables, case.window, CoverLimits(prefix_from=2, slack=0.5))
    least = set(found.acls)
    assert least != case.today
    for principal, operation, name, host in product(PRINCIPALS, OPERATIONS, NAMES, HOSTS):
        ask = Ask(principal, operation, name, host=host)
        assert case.says(case.today, ask) == "ALLOWED" or case.says(least, ask) == "DENIED"
    for ask in case.world.asks:
        if case.says(case.held_at(ask.hour), ask) == "ALLOWED":
            assert case.says(least, ask) == case.says(case.today, ask)


def test_what_if_agrees_with_the_spec_request_by_request(case: Case) -> None:
    proposed = {acl for place, acl in enumerate(sorted(case.today)) if place % 3}
    turned: dict[tuple[str, ...], int] = {}
    for ask in case.world.asks:
        before, after = case.says(case.today, ask), case.says(proposed, ask)
        if before != after:
            key = ask.principal, ask.operation.name, ask.name, before, after
            turned[key] = turned.get(key, 0) + ask.times
    found: dict[tuple[str, ...], int] = {}
    for row in what_if(case.tables, case.window, proposed).collect():
        key = row.principal, row.operation, row.resource_name, row.before, row.after
        found[key] = found.get(key, 0) + row.requests
        if row.acl is not None:
            assert acl_of(row.acl) in case.today | proposed
    assert turned
    assert found == turned

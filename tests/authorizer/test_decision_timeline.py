"""A question's decision at every version equals the specification's on the ACLs of that version."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import ALLOWED_TO_SUPER_USER
from authorizer.history.decision_timeline import DecisionTimelines
from authorizer.history.timeline import Edge, Timeline, TimelineChange, lifetimes
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import Question
from metalog.acl import IMPLIED_BY, Acl, Operation, PermissionType, ResourceType
from metalog.ids import Uuid
from tests.support.worlds import spec
from tests.support.worlds.small_acls import allow
from tests.support.worlds.small_histories import (
    NAMES,
    OPERATIONS,
    PRINCIPALS,
    START,
    bases,
    histories,
)

pytestmark = pytest.mark.once

QUESTIONS = [
    Question(who, operation, kind, name, host)
    for who, host, operation, kind, name in product(
        PRINCIPALS,
        ("10.0.0.1", "10.0.0.2", "10.0.0.3"),
        (*OPERATIONS, Operation.ALTER_CONFIGS),
        (ResourceType.TOPIC, ResourceType.GROUP),
        (*NAMES, "abbey", "*ab", "c"),
    )
]
SUPER_USER = "User:b"
GROUPS_READ = allow("t", principal="Group:a")


@settings(max_examples=60)
@given(bases, histories(), st.booleans(), st.sampled_from(KafkaVersion), st.randoms())
def test_each_answer_at_each_version_is_the_specifications(
    base: dict[Uuid, Acl],
    changes: list[TimelineChange],
    default: bool,
    kafka: KafkaVersion,
    choose: Random,
) -> None:
    timeline = Timeline(Edge(START, 100), lifetimes(base, changes))
    timelines = DecisionTimelines(timeline)
    config = AuthorizerConfig(frozenset([SUPER_USER]), default, kafka_version=kafka)
    for question in choose.sample(QUESTIONS, 100):
        for version in range(len(timeline)):
            known = {life.acl for life in timeline.alive(version)}
            who, operation, kind, name, host, _ = question
            expected = spec.decide(known, ({who}, str(host)), operation, kind, name, default, kafka)
            by_numbers = timelines.timeline_by_numbers(
                timelines.principals.get(who, 0),
                timelines.host(str(host), kafka),
                operation,
                timelines.name_group(kind, name),
            )
            assert by_numbers == timelines.timeline_of(question, kafka)
            if who == SUPER_USER:
                expected = ALLOWED_TO_SUPER_USER
            assert timelines.decision(question, version, config) == expected


@given(bases, histories())
def test_the_life_that_decides_is_alive_and_a_turn_is_one(
    base: dict[Uuid, Acl], changes: list[TimelineChange]
) -> None:
    timeline = Timeline(Edge(START, 100), lifetimes(base, changes))
    timelines = DecisionTimelines(timeline)
    for question in QUESTIONS[::5]:
        decisions = timelines.timeline_of(question, KafkaVersion.V4_4)
        assert decisions.since[0] == 0
        assert list(decisions.since) == sorted(set(decisions.since))
        own = [life for life in timeline.lifetimes if matches(life.acl, question)]
        turns = {edge for life in own for edge in timeline.span(life)}
        for place in range(1, len(decisions.by)):
            is_other = decisions.by[place] != decisions.by[place - 1]
            assert is_other or decisions.since[place] in turns
        for version, by in zip(*decisions, strict=True):
            if by >= 0:
                assert timeline.lifetimes[by] in list(timeline.alive(version))


def matches(acl: Acl, question: Question) -> bool:
    who, operation, kind, name, host, _ = question
    is_denial = acl.permission_type is not PermissionType.ALLOW
    implied = () if is_denial else IMPLIED_BY.get(operation, ())
    return spec.reaches(acl, kind, name) and spec.matches(
        acl, ({who}, str(host)), operation, KafkaVersion.V4_4, implied
    )


def test_further_principals_match_as_the_sessions_does() -> None:
    timelines = DecisionTimelines(
        Timeline(Edge(0, 0), lifetimes({Uuid(bytes(16)): GROUPS_READ}, []))
    )
    alone = Question("User:a", Operation.READ, ResourceType.TOPIC, "t")
    with_group = alone._replace(additional_principals=("Group:a",))
    assert [timelines.timeline_of(each, KafkaVersion.V4_4).by for each in (alone, with_group)] == [
        (-2,),
        (0,),
    ]


def test_what_is_answered_alike_has_one_number() -> None:
    base = {Uuid(bytes([n]) * 16): GROUPS_READ for n in range(2)}
    timelines = DecisionTimelines(Timeline(Edge(0, 0), lifetimes(base, [])))
    names = ["t", "u", "v", "*x"]
    name_groups = Counter(timelines.name_group(ResourceType.TOPIC, name) for name in names)
    assert sorted(name_groups.values()) == [1, 1, 2]
    assert (timelines.principals, timelines.hosts) == ({"User:*": 0, "Group:a": 1}, {"*": 0})


@given(bases, histories())
def test_whom_nothing_names_nothing_matches(
    base: dict[Uuid, Acl], changes: list[TimelineChange]
) -> None:
    timelines = DecisionTimelines(Timeline(Edge(START, 100), lifetimes(base, changes)))
    for question in QUESTIONS[::5]:
        name_group = timelines.name_group(question.resource_type, question.resource_name)
        named = timelines.named_principals(name_group)
        if named is not None and timelines.principals.get(question.principal, 0) not in named:
            assert max(timelines.timeline_of(question, KafkaVersion.V4_4).by) < 0

"""A trace says what the linear scan says, of each candidate once, with reasons that are true."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from small_world import worlds

from authorizer import spec
from authorizer.config import AuthorizerConfig
from authorizer.trace import Attribute, Question, Standing, trace
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType

VECTORS = Path(__file__).parents[3] / "shared" / "vectors" / "decisions.jsonl.gz"


def of_spec(acls, config, question):
    who = ({question.principal, *question.additional_principals}, question.host)
    resource = question.resource_type, question.resource_name
    return spec.decide(acls, who, question.operation, *resource, config.allow_everyone)


@settings(max_examples=300)
@given(worlds)
def test_the_decision_and_the_rule_are_those_of_the_scan(world):
    acls, config, question = world
    traced = trace(acls, config, question)
    if question.principal in config.super_users:
        assert (traced.decision.rule, traced.candidates) == ("SuperUser", ())
    else:
        assert traced.decision == of_spec(acls, config, question)


@settings(max_examples=300)
@given(worlds)
def test_every_acl_that_reaches_the_resource_is_a_candidate_once(world):
    acls, config, question = world
    config = config._replace(super_users=frozenset())
    candidates = [each.acl for each in trace(acls, config, question).candidates]
    reaching = {
        acl for acl in acls if spec.reaches(acl, question.resource_type, question.resource_name)
    }
    assert candidates == sorted(reaching, key=lambda acl: spec.order(acl, question.resource_name))


@settings(max_examples=300)
@given(worlds)
def test_the_reasons_are_true(world):
    """An attribute misses just where making it general makes the ACL match, all being mended."""
    acls, config, question = world
    general = {
        Attribute.PRINCIPAL: {"principal": "User:*"},
        Attribute.HOST: {"host": "*"},
        Attribute.OPERATION: {"operation": Operation.ALL},
    }
    for candidate in trace(acls, config, question).candidates:
        mended = candidate.acl
        for attribute in candidate.mismatches:
            assert not matches_alone(mended, question)
            mended = mended._replace(**general[attribute])
        assert matches_alone(mended, question)


def matches_alone(acl, question):
    config = AuthorizerConfig(frozenset(), False)
    return of_spec([acl], config, question).acl is not None


@settings(max_examples=300)
@given(worlds)
def test_the_standings_are_true(world):
    acls, config, question = world
    traced = trace(acls, config, question)
    for candidate in traced.candidates:
        assert bool(candidate.mismatches) is (candidate.standing is Standing.NO_MATCH)
        assert (candidate.acl == traced.decision.acl) is (candidate.standing is Standing.DECIDED)
        if candidate.standing is Standing.OVERRIDDEN:
            assert candidate.acl.permission_type is PermissionType.ALLOW
            assert not traced.allowed


def test_further_principals_of_the_session_match_too():
    grant = Acl(
        ResourceType.TOPIC,
        "t",
        PatternType.LITERAL,
        "Group:staff",
        "*",
        Operation.READ,
        PermissionType.ALLOW,
    )
    config = AuthorizerConfig(frozenset({"Group:staff"}), False)
    question = Question("User:a", Operation.READ, ResourceType.TOPIC, "t")
    assert not trace([grant], config, question).allowed
    traced = trace([grant], config, question._replace(additional_principals=("Group:staff",)))
    assert traced.decision.acl == grant


@pytest.mark.skipif(not VECTORS.exists(), reason="the vectors of ../shared are not here")
def test_a_sample_of_what_kafka_decided():
    """The first requests of every scenario that loads its ACLs once."""
    compared = 0
    with gzip.open(VECTORS, "rt") as lines:
        for line in lines:
            entry = json.loads(line)
            if "scenario" in entry:
                scenario, asked = entry, 0
                acls = [as_acl(each) for each in entry["acls"]]
                config = AuthorizerConfig(frozenset(entry["superUsers"]), entry["allowEveryone"])
            if "step" in entry:
                asked = 8
            if scenario["ready"] and "rule" in entry and asked < 8:
                asked += 1
                compared += 1
                decision = trace(acls, config, as_question(entry)).decision
                expected = next(
                    (
                        a
                        for a, e in zip(acls, scenario["acls"], strict=True)
                        if e["id"] == entry["aclId"]
                    ),
                    None,
                )
                assert decision == (decision.result, entry["rule"], expected), entry
                assert decision.result.value == entry["result"]
    assert compared > 10_000


def as_acl(entry):
    return Acl(
        ResourceType[entry["resourceType"]],
        entry["resourceName"],
        PatternType[entry["patternType"]],
        entry["principal"],
        entry["host"],
        Operation[entry["operation"]],
        PermissionType[entry["permissionType"]],
    )


def as_question(entry):
    return Question(
        entry["principal"],
        Operation[entry["operation"]],
        ResourceType[entry["resourceType"]],
        entry["resourceName"],
        entry["host"],
    )

"""A trace equals the linear scan: each candidate once, with true reasons."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from authorizer.config import AuthorizerConfig
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import Attribute, Question, Standing, trace
from metalog.acl import Operation, PermissionType, ResourceType
from tests.support.kafka.vectors import Acls, read_action, read_context, scenarios
from tests.support.worlds import spec
from tests.support.worlds.small_acls import allow
from tests.support.worlds.small_world import worlds

TRACED = ["hosts", "operations", "principals", "star-names", "unicode"]


def of_spec(acls, config, question):
    who = ({question.principal, *question.additional_principals}, question.host or "\0")
    resource = question.resource_type, question.resource_name
    return spec.decide(
        acls, who, question.operation, *resource, config.allow_everyone, config.kafka
    )


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
    """An attribute is a mismatch if and only if making it general makes the ACL match."""
    acls, config, question = world
    general = {
        Attribute.PRINCIPAL: {"principal": "User:*"},
        Attribute.HOST: {"host": "*"},
        Attribute.OPERATION: {"operation": Operation.ALL},
    }
    for candidate in trace(acls, config, question).candidates:
        mended = candidate.acl
        for attribute in candidate.mismatches:
            assert not matches_alone(mended, question, config.kafka)
            mended = mended._replace(**general[attribute])
        assert matches_alone(mended, question, config.kafka)


def matches_alone(acl, question, kafka):
    config = AuthorizerConfig(frozenset(), False, kafka_version=kafka)
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
    grant = allow("t", principal="Group:staff")
    config = AuthorizerConfig(frozenset({"Group:staff"}), False)
    question = Question("User:a", Operation.READ, ResourceType.TOPIC, "t")
    assert not trace([grant], config, question).allowed
    traced = trace([grant], config, question._replace(additional_principals=("Group:staff",)))
    assert traced.decision.acl == grant


@pytest.mark.parametrize(
    ("kafka", "family"),
    [
        *((KafkaVersion.V4_3, family) for family in TRACED),
        (KafkaVersion.V4_4, "hosts"),
        (KafkaVersion.V4_4, "cidr"),
    ],
)
def test_what_kafka_decided(kafka, family):
    compared = 0
    for header, lines in scenarios(family, kafka):
        acls = Acls(header)
        super_users = frozenset(header["superUsers"])
        config = AuthorizerConfig(super_users, header["allowEveryone"], kafka_version=kafka)
        for line in lines:
            if "step" in line:
                acls.change(line)
            elif "rule" in line:
                compared += 1
                decision = trace(acls.by_id.values(), config, as_question(line)).decision
                said = decision.result.name, decision.rule, decision.acl
                assert said == (line["result"], line["rule"], acls.named(line["aclId"]))
    assert compared


def as_question(line):
    context, action = read_context(line), read_action(line)
    resource = action.resource
    return Question(
        context.principal, action.operation, resource.resource_type, resource.name, context.host
    )

"""Every kind of near miss, and its law: with the one attribute changed, the ACL matches."""

from __future__ import annotations

import time

import pytest

from authorizer.analysis.explain.explain import explain
from authorizer.analysis.explain.kinds import NearMissKind as Kind
from authorizer.config import AuthorizerConfig
from authorizer.trace import Attribute, Question, mismatches, reaches
from metalog.acl import Operation, PatternType, PermissionType, ResourceType
from tests.support.worlds.small_acls import allow
from tests.support.worlds.small_world import for_many_worlds

CLOSED = AuthorizerConfig(frozenset(), False)
ASKED = Question("User:bob", Operation.READ, ResourceType.TOPIC, "payments-eu", "10.0.0.1")
GRANT = allow("payments-eu")
LOOPBACK6 = "0:0:0:0:0:0:0:1"
DN = "User:CN=bob,OU=pay\\, eu,O=Shop"
PREFIXED = PatternType.PREFIXED


def the_near_miss(acl, question=ASKED):
    [miss] = explain([acl], CLOSED, question).near_misses
    return miss


@for_many_worlds
def test_changing_the_one_attribute_makes_it_match(acls, config, question):
    for miss in explain(acls, config, question).near_misses:
        changed = miss.would_match
        assert miss.acl in acls
        assert reaches(changed, question.resource_type, question.resource_name)
        assert not mismatches(changed, question.subject(config.kafka), question.operation)
        assert differing(miss.acl, changed) <= {miss.attribute}


@for_many_worlds
def test_near_misses_would_have_turned_the_answer_and_come_ranked(acls, config, question):
    explanation = explain(acls, config, question)
    if explanation.trace.decision.rule == "SuperUser":
        assert explanation.near_misses == ()
    ranks = [
        (
            min(miss.kind.rank, Kind.OPERATION_NOT_IMPLIED.rank),
            miss.acl.principal != question.principal,
            miss.kind.rank,
        )
        for miss in explanation.near_misses
    ]
    assert ranks == sorted(ranks)
    for miss in explanation.near_misses:
        allows = miss.acl.permission_type is PermissionType.ALLOW
        assert allows is not explanation.trace.allowed


def test_an_acl_of_the_principal_tells_more_than_one_of_everybody():
    everybody = GRANT._replace(principal="User:*", resource_name="*", operation=Operation.DESCRIBE)
    elsewhere = GRANT._replace(host="10.0.0.2")
    explanation = explain([everybody, elsewhere], CLOSED, ASKED)
    assert [miss.acl for miss in explanation.near_misses] == [elsewhere, everybody]


@for_many_worlds
def test_the_order_of_the_acls_does_not_matter(acls, config, question):
    assert explain(acls, config, question) == explain(acls[::-1] + acls, config, question)


def differing(left, right):
    found = set()
    for attribute, fields in {
        Attribute.PRINCIPAL: ("principal",),
        Attribute.HOST: ("host",),
        Attribute.OPERATION: ("operation",),
        Attribute.PATTERN: ("resource_name", "pattern_type"),
        Attribute.RESOURCE_TYPE: ("resource_type",),
        None: ("permission_type",),
    }.items():
        if any(getattr(left, field) != getattr(right, field) for field in fields):
            found.add(attribute)
    return found


@pytest.mark.parametrize(
    ("kind", "host", "asked"),
    [
        (Kind.HOST_TEXT, "::1", LOOPBACK6),
        (Kind.HOST_TEXT, "2001:DB8:0:0:0:0:0:1", "2001:db8:0:0:0:0:0:1"),
        (Kind.HOST_TEXT, "[2001:db8::1]", "2001:db8:0:0:0:0:0:1"),
        (Kind.HOST_FAMILY, "::ffff:10.0.0.1", "10.0.0.1"),
        (Kind.HOST_FAMILY, "127.0.0.1", LOOPBACK6),
        (Kind.HOST_SCOPE, "fe80:0:0:0:0:0:0:1", "fe80:0:0:0:0:0:0:1%2"),
        (Kind.HOST_BLANK, " 10.0.0.1", "10.0.0.1"),
        (Kind.HOST_RANGE, "10.0.0.0/8", "10.0.0.1"),
        (Kind.HOST_RANGE, "10.0.0.*", "10.0.0.1"),
        (Kind.HOST_NAME, "bob.example.org", "10.0.0.1"),
        (Kind.HOST, "10.0.0.2", "10.0.0.1"),
        (Kind.HOST, "192.168.0.0/16", "10.0.0.1"),
        (Kind.HOST, "127.0.0.1", "127.0.0.2"),
        (Kind.HOST_TEXT, "::1", None),
        (Kind.HOST_BLANK, "10.0.0.1 ", None),
        (Kind.HOST_RANGE, "10.0.0.0/8", None),
        (Kind.HOST_RANGE, "10.0.0.*", None),
        (Kind.HOST_RANGE, "10.0.0.1-9", None),
        (Kind.HOST_RANGE, "2001:db8::1 - 2001:db8::9", None),
        (Kind.HOST_NAME, "bob.example.org", None),
        (Kind.HOST_NAME, "bob-1.example.org/10.0.0.1", None),
        (Kind.HOST_NAME, "300.1.2.3", None),
        (Kind.HOST_NAME, "300.1.2.3", "10.0.0.1"),
        (Kind.HOST_NAME, "10.0.0.0/33", None),
        (Kind.HOST_NAME, "", None),
    ],
)
def test_hosts(kind, host, asked):
    miss = the_near_miss(GRANT._replace(host=host), ASKED._replace(host=asked))
    assert (miss.kind, miss.attribute) == (kind, Attribute.HOST)


@pytest.mark.parametrize(
    ("kind", "principal", "asked"),
    [
        (Kind.PRINCIPAL_CASE, "User:Bob", "User:bob"),
        (Kind.PRINCIPAL_CASE, "user:bob", "User:bob"),
        (Kind.PRINCIPAL_BLANK, "User:bob ", "User:bob"),
        (Kind.PRINCIPAL_TYPE, "Group:bob", "User:bob"),
        (Kind.PRINCIPAL_TYPE, "bob", "User:bob"),
        (Kind.PRINCIPAL_DN, "User:O=Shop, OU=pay\\, eu, CN=bob", DN),
        (Kind.PRINCIPAL_DN, 'User:CN="bob",O=Shop', 'User:O=shop,CN="bob"'),
        (Kind.PRINCIPAL_SHORT_NAME, "User:bob", DN),
        (Kind.PRINCIPAL_SHORT_NAME, DN, "User:bob"),
        (Kind.PRINCIPAL_SHORT_NAME, "User:bob", "User:bob/host@REALM"),
        (Kind.PRINCIPAL_STAR, "User:b*", "User:bob"),
        (Kind.PRINCIPAL_TYPO, "User:bbo", "User:bob"),
        (Kind.PRINCIPAL, "User:alice", "User:bob"),
    ],
)
def test_principals(kind, principal, asked):
    miss = the_near_miss(GRANT._replace(principal=principal), ASKED._replace(principal=asked))
    assert (miss.kind, miss.attribute) == (kind, Attribute.PRINCIPAL)


@pytest.mark.parametrize(
    ("kind", "name", "pattern_type", "meant"),
    [
        (Kind.NAME_CASE, "Payments-EU", PatternType.LITERAL, "payments-eu"),
        (Kind.NAME_CASE, "Payments", PREFIXED, "payments"),
        (Kind.NAME_BLANK, "payments-eu ", PatternType.LITERAL, "payments-eu"),
        (Kind.NAME_BLANK, " payments", PREFIXED, "payments"),
        (Kind.LITERAL_STAR, "payments*", PatternType.LITERAL, "payments"),
        (Kind.LITERAL_PREFIX, "payments-", PatternType.LITERAL, "payments-"),
        (Kind.PREFIXED_STAR, "payments*", PREFIXED, "payments"),
        (Kind.PREFIXED_STAR, "*", PREFIXED, "*"),
        (Kind.PREFIX_ONE_OFF, "payments.", PREFIXED, "payments-"),
        (Kind.PREFIX_ONE_OFF, "payment-", PREFIXED, "payments-"),
        (Kind.PREFIX_ONE_OFF, "payments-eu-", PREFIXED, "payments-eu"),
        (Kind.NAME_TYPO, "paymnets-eu", PatternType.LITERAL, "payments-eu"),
        (Kind.NAME, "payments-us", PatternType.LITERAL, "payments-eu"),
        (Kind.NAME, "payments-eu-archive-", PREFIXED, "payments-eu"),
    ],
)
def test_names(kind, name, pattern_type, meant):
    miss = the_near_miss(GRANT._replace(resource_name=name, pattern_type=pattern_type))
    assert (miss.kind, miss.attribute) == (kind, Attribute.PATTERN)
    assert miss.would_match.resource_name == meant


def test_names_that_have_nothing_in_common_are_no_near_miss():
    assert explain([GRANT._replace(resource_name="orders")], CLOSED, ASKED).near_misses == ()


def test_the_wildcard_does_not_reach_a_name_that_begins_with_a_star():
    wildcard = GRANT._replace(resource_name="*")
    question = ASKED._replace(resource_type=ResourceType.GROUP, resource_name="*-eu")
    miss = the_near_miss(wildcard._replace(resource_type=ResourceType.GROUP), question)
    assert miss.kind is Kind.WILDCARD_SKIPS_STAR


@pytest.mark.parametrize(
    ("kind", "granted", "asked"),
    [
        (Kind.OPERATION_NOT_IMPLIED, Operation.DESCRIBE, Operation.READ),
        (Kind.OPERATION_NOT_IMPLIED, Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS),
        (Kind.OPERATION, Operation.WRITE, Operation.READ),
    ],
)
def test_operations(kind, granted, asked):
    miss = the_near_miss(GRANT._replace(operation=granted), ASKED._replace(operation=asked))
    assert (miss.kind, miss.attribute) == (kind, Attribute.OPERATION)


def test_a_deny_does_not_deny_what_its_operation_would_imply():
    deny = GRANT._replace(permission_type=PermissionType.DENY)
    explanation = explain([GRANT, deny], CLOSED, ASKED._replace(operation=Operation.DESCRIBE))
    assert explanation.trace.allowed
    [miss] = explanation.near_misses
    assert (miss.kind, miss.acl) == (Kind.OPERATION_NOT_IMPLIED, deny)


def test_a_deny_that_overrides_is_the_first_near_miss():
    deny = GRANT._replace(permission_type=PermissionType.DENY, principal="User:*")
    other = GRANT._replace(host="10.0.0.2")
    first, second = explain([other, GRANT, deny], CLOSED, ASKED).near_misses
    assert (first.kind, first.acl, first.deny) == (Kind.DENY_OVERRIDES, GRANT, deny)
    assert second.kind is Kind.HOST


def test_the_same_name_of_another_resource_type():
    miss = the_near_miss(GRANT._replace(resource_type=ResourceType.GROUP))
    assert (miss.kind, miss.attribute) == (Kind.RESOURCE_TYPE, Attribute.RESOURCE_TYPE)


def test_two_attributes_away_is_not_near():
    assert explain([GRANT._replace(principal="User:Bob", host="10.0.0.2")], CLOSED, ASKED)[2] == ()


def test_a_hostile_set_of_acls_takes_time_in_proportion_to_its_size():
    acls = [
        GRANT._replace(host=f"{'*' * 200}{i}", principal=f"User:{'=,' * 200}{i}")
        for i in range(2_000)
    ] + [GRANT._replace(principal=f"User:{'a=' * 300}{i}") for i in range(2_000)]
    started = time.process_time()
    explain(acls, CLOSED, ASKED._replace(principal=f"User:{'a=,' * 300}"))
    assert time.process_time() - started < 20

"""Each answer of ``access`` and ``who-can`` is the specification's."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from authorizer.analysis.access.access import PrincipalAccess, access
from authorizer.analysis.access.allowed_patterns import AllowedPatterns, PatternAccess
from authorizer.analysis.access.who_can import WhoCan, who_can
from authorizer.config import AuthorizerConfig
from authorizer.kafka_version import KafkaVersion
from metalog.acl import Acl, Operation, PatternType, ResourceType
from shell.arguments.acl_line import parse_acl_line
from tests.support.worlds import spec
from tests.support.worlds.small_world import CLIENTS as NAMED_CLIENTS
from tests.support.worlds.small_world import NAMES, OPERATIONS, PRINCIPALS, configs, from_there
from tests.support.worlds.small_world import acls as small_acls

TOPIC = ResourceType.TOPIC
UNNAMED = "192.0.2.1"
CLIENTS = [UNNAMED, *NAMED_CLIENTS]
PEOPLE = [*(each for each in PRINCIPALS if each != "User:*"), "User:zoe"]
ASKED = [each for each in OPERATIONS if each is not Operation.ALL]
EVERY_NAME = [*NAMES, "aab", "*ab", "z"]
NOTHING = PatternAccess(TOPIC, PatternType.LITERAL, "", frozenset(), (), ())
several = st.lists(small_acls.map(lambda acl: acl._replace(resource_type=TOPIC)), max_size=8)


def decided(
    acls: list[Acl], config: AuthorizerConfig, who: str, host: str, operation: Operation, name: str
) -> bool:
    if who in config.super_users:
        return True
    default = config.allow_everyone
    return bool(
        spec.decide(acls, ({who}, host), operation, TOPIC, name, default, config.kafka).result
    )


def claimed(found: WhoCan, config: AuthorizerConfig, who: str, host: str) -> bool:
    if who in config.super_users:
        return True
    by_principal = {each.principal: each for each in found.holders}
    holder = by_principal.get(who, by_principal[None])
    there = from_there({each.host: each.allowed for each in holder.hosts}, host)
    return holder.allowed if there is None else there


@given(several, configs, st.sampled_from(ASKED), st.sampled_from(EVERY_NAME))
def test_who_can_is_the_specification_asked_from_the_other_side(
    acls: list[Acl], config: AuthorizerConfig, operation: Operation, name: str
) -> None:
    found = who_can(acls, config, operation, TOPIC, name)
    for who, host in product(PEOPLE, CLIENTS):
        asked = decided(acls, config, who, host, operation, name)
        assert claimed(found, config, who, host) is asked
        from_there = who_can(acls, config, operation, TOPIC, name, host)
        assert claimed(from_there, config, who, host) is asked


@given(several)
def test_each_holder_is_named_with_the_acl_that_decides(acls: list[Acl]) -> None:
    found = who_can(acls, AuthorizerConfig(), Operation.READ, TOPIC, "ab")
    for holder in found.holders:
        who = ({holder.principal or "User:zoe"}, UNNAMED)
        decision = spec.decide(acls, who, Operation.READ, TOPIC, "ab", False)
        assert holder.acl == decision.acl
        denied_alone = holder.acl is not None and not holder.allowed
        allows = [acl for acl in acls if acl.permission_type.name == "ALLOW"]
        without = spec.decide(allows, who, Operation.READ, TOPIC, "ab", False)
        assert holder.is_overridden is (denied_alone and bool(without.result))


def on_names(found: list[PrincipalAccess], host: str, name: str) -> frozenset[Operation]:
    general, *others = ({each.name: each.operations for each in part.names} for part in found)
    parts = zip(found[1:], others, strict=True)
    there = from_there({str(part.host): here[name] for part, here in parts if name in here}, host)
    return general.get(name, frozenset()) if there is None else there


def on_patterns(found: list[PrincipalAccess], host: str) -> list[PatternAccess]:
    here = {each[:3]: each for each in found[0].patterns}
    others = [(part.host, {each[:3]: each for each in part.patterns}) for part in found[1:]]
    for pattern in {pattern for _, patterns in others for pattern in patterns}:
        named = {str(part): on[pattern] for part, on in others if pattern in on}
        here[pattern] = from_there(named, host) or here.get(pattern, NOTHING)
    return list(here.values())


def allowed_by_patterns(patterns: list[PatternAccess], operation: Operation, name: str) -> bool:
    def reach(pattern_type: PatternType, own: str) -> bool:
        [acl] = parse_acl_line("ALLOW User:x Read topic:x")
        acl = acl._replace(pattern_type=pattern_type, resource_name=own)
        return spec.reaches(acl, TOPIC, name)

    reaching = [each for each in patterns if reach(each.pattern_type, each.name)]
    return any(
        operation in each.operations
        and not any(
            reach(deny.pattern_type, deny.resource_name)
            and deny.operation in (Operation.ALL, operation)
            for deny in each.exceptions
        )
        for each in reaching
    )


@settings(max_examples=40)
@given(several, st.booleans(), st.sampled_from(KafkaVersion), st.sampled_from(PEOPLE))
def test_what_a_principal_may_is_what_the_specification_decides(
    acls: list[Acl], default: bool, kafka: KafkaVersion, who: str
) -> None:
    config = AuthorizerConfig(allow_everyone=default, kafka_version=kafka)
    found = access(acls, config, who, {TOPIC: EVERY_NAME})
    for host in CLIENTS:
        [there] = access(acls, config, who, {TOPIC: EVERY_NAME}, host)
        patterns = on_patterns(found, host)
        for name, operation in product(EVERY_NAME, ASKED):
            asked = decided(acls, config, who, host, operation, name)
            assert (operation in on_names(found, host, name)) is asked
            assert (operation in on_names([there], host, name)) is asked
            if not default:
                assert allowed_by_patterns(patterns, operation, name) is asked
                assert allowed_by_patterns(list(there.patterns), operation, name) is asked


def test_a_deny_is_an_exception_only_where_it_takes_something() -> None:
    acls = [
        acl
        for line in (
            "ALLOW User:a Write topic:pay --prefixed",
            "DENY User:* Write topic:payroll",
            "DENY User:a Read topic:payments",
            "DENY User:a Write topic:audit",
        )
        for acl in parse_acl_line(line)
    ]
    [found] = access(acls, AuthorizerConfig(), "User:a", {TOPIC: ["payroll", "payments", "audit"]})
    [on] = found.patterns
    assert on.operations == {Operation.WRITE, Operation.DESCRIBE}
    assert on.exceptions == (acls[1],)
    assert [(each.name, len(each.operations)) for each in found.names] == [
        ("payments", 2),
        ("payroll", 1),
    ]


def test_a_deny_of_an_operation_that_kafka_never_checks_there_is_no_exception() -> None:
    acls = [
        *parse_acl_line("ALLOW User:a All topic:pay --prefixed"),
        *parse_acl_line("DENY User:a Write topic:payroll"),
    ]
    unchecked = acls[1]._replace(operation=Operation.CLUSTER_ACTION)
    more = [*acls, unchecked, unchecked._replace(host="10.0.0.1")]
    config = AuthorizerConfig()
    assert access(more, config, "User:a", {}) == access(acls, config, "User:a", {})


def test_permissions_from_one_host_are_not_those_from_another() -> None:
    acls = parse_acl_line("ALLOW User:a Read topic:pay --host 10.0.0.1")
    patterns = AllowedPatterns(acls, AuthorizerConfig().kafka)
    assert len(patterns.from_host("10.0.0.1")) == 1
    assert patterns.from_host(None) == []

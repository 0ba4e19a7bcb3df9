"""Two sets of ACLs under two configurations, and what a comparison lists."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from authorizer.analysis.cells.clients import ANY_HOST, HostSet
from authorizer.analysis.cells.difference import SetComparison, without_cells
from authorizer.analysis.cells.gains import prove_gains, unplanned_losses
from authorizer.analysis.cells.names import PLAIN, NamePattern
from authorizer.analysis.cells.sessions import ANYBODY, PrincipalSet, Requests, checked_operations
from authorizer.config import AuthorizerConfig
from authorizer.kafka_version import KafkaVersion
from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.errors import InvalidRequest
from tests.support.worlds.random_worlds import (
    CLIENTS,
    PRINCIPALS,
    ROOT,
    A,
    Answers,
    acl,
    acls,
    is_about,
    world,
)
from tests.support.worlds.small_acls import BOB, allow, deny

CONFIG, OPEN = AuthorizerConfig(), AuthorizerConfig(allow_everyone=True)
BLOCKS = AuthorizerConfig(kafka_version=KafkaVersion.V4_4)
ROOTED = AuthorizerConfig(super_users=frozenset({BOB}))
WRITE, TOPIC = Operation.WRITE, ResourceType.TOPIC


def configured(random: Random) -> AuthorizerConfig:
    return AuthorizerConfig(
        frozenset(each for each in (ROOT, A) if random.random() < 0.4),
        allow_everyone=random.random() < 0.5,
        kafka_version=random.choice((KafkaVersion.V4_3, KafkaVersion.V4_4)),
    )


def test_a_difference_of_configurations_is_that_of_every_combination() -> None:
    random = Random(3)
    seen = set()
    for number in range(36):
        small = world(random, 2)
        configs = [configured(random) for _ in range(2)]
        if number % 3:  # only one of the three differs
            changed = random.choice(("super_users", "allow_everyone", "kafka_version"))
            value = getattr(configs[1], changed)
            configs[1] = configs[0]._replace(**{changed: value})
        before = acls(random, small, 5)
        after = before if number % 2 else [*before[1:], acl(random, small)]
        compared = SetComparison(before, after, configs[0], after_config=configs[1])
        sides = [Answers(*each) for each in zip((before, after), configs, strict=True)]
        asked = checked_operations(small.kind)
        found: set[tuple[str, int, int]] = set()
        for change in compared.differences():
            session = change.session
            who = small.kind, session.principal, session.clients.client, [change.name]
            if session.kind is small.kind:
                assert [each.on(*who)[0] & asked for each in sides] == [change.before, change.after]
                who_is = session.principal if session.is_named else ""
                found.add((who_is, change.before, change.after))
        wanted = {
            (was & asked, is_now & asked)
            for who in product((small.kind,), PRINCIPALS, CLIENTS, (small.names,))
            for was, is_now in zip(*(each.on(*who) for each in sides), strict=True)
            if (was ^ is_now) & asked
        }
        assert {each[1:] for each in found} >= wanted, (number, configs, before, after)
        seen.add(bool(wanted))
    assert len(seen) == 2


def test_a_changed_configuration_concerns_all_types() -> None:
    compared = SetComparison([], [], CONFIG, after_config=OPEN)
    kinds = {session.kind for session, _ in compared.compared()}
    assert {ResourceType.CLUSTER, TOPIC, ResourceType.GROUP} <= kinds
    names = {each.session.kind: each.name for each in compared.differences()}
    assert names[ResourceType.CLUSTER] == "kafka-cluster"


def test_a_changed_super_user_differs_from_others_with_the_same_acls() -> None:
    [*changes] = SetComparison([], [], CONFIG, after_config=ROOTED).differences()
    assert {each.session.principal for each in changes} == {BOB}
    assert {each.session.is_named for each in changes} == {True}
    assert all(each.before == 0 for each in changes)
    compared = SetComparison([], [allow("t")], CONFIG, after_config=ROOTED)
    cell = next(each for each in compared.differences() if each.name == "t")
    assert compared.answers_by([])(cell) == 0
    assert compared.answers_by([allow("t", Operation.DELETE)])(cell) == (
        1 << Operation.DELETE | 1 << Operation.DESCRIBE
    )


def test_a_release_that_matches_blocks_concerns_their_acls_alone() -> None:
    rules = [allow("t", host="10.0.0.0/8"), allow("u")]
    [change] = SetComparison(rules, rules, CONFIG, after_config=BLOCKS).differences()
    assert (change.name, change.session.clients.host) == ("t", "10.0.0.0/8")
    [change] = SetComparison(rules, rules, BLOCKS, after_config=CONFIG).differences()
    assert (change.name, change.session.clients.host) == ("t", "10.0.0.0/8")
    assert SetComparison(rules, rules, BLOCKS).cells == 0


def test_a_comparison_has_the_cells_of_known_types_with_a_difference() -> None:
    cluster = allow("kafka-cluster", Operation.ALTER, kind=ResourceType.CLUSTER)
    asked = checked_operations(ResourceType.CLUSTER).bit_count()
    assert SetComparison([], [cluster], CONFIG).cells == asked
    unknown = allow("t", kind=ResourceType.UNKNOWN)
    assert SetComparison([], [unknown], CONFIG).cells == 0
    assert SetComparison([allow("t")], [allow("t")], CONFIG).cells == 0


def test_a_comparison_of_more_cells_than_the_most_is_refused() -> None:
    assert SetComparison([], [allow("t")], CONFIG, 8).cells == 8
    with pytest.raises(InvalidRequest, match="more than 7 cells"):
        SetComparison([], [allow("t")], CONFIG, 7)


def test_the_name_that_kafka_tries_first_decides_for_a_producer_that_begins() -> None:
    """By the default rule everybody may write to ``hardcode``, whatever ACLs there are."""
    on_no_topic = allow("no topic", WRITE, "User:z")
    assert list(SetComparison([on_no_topic], [], OPEN).by_type()) == []
    assert len(list(SetComparison([on_no_topic], [], CONFIG).by_type())) == 1
    elsewhere = allow("hardcode", Operation.READ, "User:z")
    assert list(SetComparison([], [elsewhere, on_no_topic], OPEN).by_type()) == []
    changes = list(SetComparison([elsewhere, on_no_topic], [elsewhere], OPEN).by_type())
    assert [(each.session.principal, each.allowed) for each in changes] == [("User:z", False)]


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ([allow("no topic", WRITE)], [allow("no topic", WRITE)]),
        ([allow("no topic", Operation.ALL)], [allow("no topic", Operation.ALL)]),
        ([allow("no topic", Operation.READ)], []),
        ([allow("no topic", WRITE, kind=ResourceType.GROUP)], []),
        ([allow("t", WRITE), allow("*", WRITE), allow("t", WRITE, prefixed=True)], []),
        ([allow("a", WRITE), *(allow(f"a{each}", WRITE, prefixed=True) for each in PLAIN)], []),
        (
            [allow("t", WRITE)._replace(permission_type=PermissionType.UNKNOWN)],
            [allow("t", WRITE)._replace(permission_type=PermissionType.UNKNOWN)],
        ),
        (
            [allow("t", WRITE)._replace(pattern_type=PatternType.UNKNOWN)],
            [allow("t", WRITE)._replace(pattern_type=PatternType.UNKNOWN)],
        ),
    ],
)
def test_only_acls_on_no_topic_have_no_cell(rules: list[Acl], found: list[Acl]) -> None:
    assert without_cells(rules) == found


def stated(
    name: str,
    operations: int,
    principals: PrincipalSet = ANYBODY,
    hosts: HostSet = ANY_HOST,
    kind: ResourceType = TOPIC,
    excluded: tuple[NamePattern, ...] = (),
) -> Requests:
    return Requests(principals, hosts, operations, kind, NamePattern(name), excluded)


ALL_OF_A_TOPIC = checked_operations(TOPIC)


@pytest.mark.parametrize(
    ("claimed", "is_stated"),
    [
        (stated("t", ALL_OF_A_TOPIC), True),
        (stated("", ALL_OF_A_TOPIC), True),
        (stated("t", ALL_OF_A_TOPIC & ~(1 << Operation.ALTER_CONFIGS)), False),
        (stated("tt", ALL_OF_A_TOPIC), False),
        (stated("t", ALL_OF_A_TOPIC, excluded=(NamePattern("tt"),)), False),
        (stated("t", ALL_OF_A_TOPIC, excluded=(NamePattern("u"),)), True),
        (stated("t", ALL_OF_A_TOPIC, kind=ResourceType.GROUP), False),
        (stated("t", ALL_OF_A_TOPIC, principals=PrincipalSet(frozenset({BOB}), False)), True),
        (stated("t", ALL_OF_A_TOPIC, principals=PrincipalSet(frozenset({BOB}))), False),
        (stated("t", ALL_OF_A_TOPIC, hosts=HostSet(frozenset({"10.0.0.1"}))), False),
    ],
)
def test_a_gain_is_stated_if_all_its_requests_are(claimed: Requests, is_stated: bool) -> None:
    found = prove_gains([], [allow("t", Operation.ALL, prefixed=True)], CONFIG, [claimed])
    assert (found.witnesses == ()) is is_stated
    assert found.cells >= 8
    for question in found.witnesses:
        assert question.resource_name.startswith("t")
        is_within = is_about(claimed, question.resource_name) and claimed.kind is TOPIC
        is_within &= claimed.principals.holds(BOB) and question.host != "10.0.0.1"
        is_within &= not claimed.hosts.hosts
        assert not is_within or question.operation is Operation.ALTER_CONFIGS


@pytest.mark.parametrize(
    ("operations", "kind", "is_stated"),
    [
        (1 << WRITE, TOPIC, True),
        (1 << Operation.READ, TOPIC, False),
        (1 << Operation.CREATE, TOPIC, False),
        (1 << WRITE, ResourceType.GROUP, False),
    ],
)
def test_a_producer_that_may_begin_is_stated_by_its_operation(
    operations: int, kind: ResourceType, is_stated: bool
) -> None:
    claimed = stated("t", operations, kind=kind)
    found = prove_gains([], [allow("no topic", WRITE)], CONFIG, [claimed]).witnesses
    if is_stated:
        assert found == ()
    else:
        [question] = found
        assert question[:4] == (BOB, WRITE, TOPIC, "")


def test_a_loss_is_planned_where_the_plans_own_set_loses_it() -> None:
    bobs, narrow = allow("t", prefixed=True), deny("tu")
    [loss] = unplanned_losses([bobs], [], ([bobs, narrow], [narrow]), CONFIG)
    assert (loss.principal, loss.resource_name) == (BOB, "tu")
    [loss] = unplanned_losses([bobs], [], ([bobs], [bobs]), CONFIG)
    assert loss.resource_name.startswith("t")
    assert list(unplanned_losses([bobs], [], ([bobs], []), CONFIG)) == []
    # a set in which another principal's ACL ends the default rule
    other = allow("t", principal="User:z")
    [*lost] = unplanned_losses([], [other], ([allow("t", principal=A)], [other]), OPEN)
    assert {each.principal for each in lost} >= {"User:somebody"}


def test_a_loss_that_was_not_planned_is_found_for_each_session() -> None:
    random = Random(10)
    seen = set()
    for number in range(30):
        small = world(random, 2)._replace(config=OPEN)
        sets = [acls(random, small, 4) for _ in range(3)]
        sets.append([*sets[2][1:], acl(random, small)])
        planned, then, now, after = (Answers(each, OPEN) for each in sets)
        asked = checked_operations(small.kind)
        lost = set()
        for principal, client in product(PRINCIPALS, CLIENTS):
            who = small.kind, principal, client, small.names
            columns = (each.on(*who) for each in (planned, then, now, after))
            for one, two, three, four in zip(*columns, strict=True):
                if three & ~four & ~(one & ~two) & asked:
                    lost.add(principal)
        found = list(unplanned_losses(sets[2], sets[3], (sets[0], sets[1]), OPEN))
        named = {each.principal for each in found} & lost
        assert bool(found) is bool(lost), (number, sets)
        assert named or not lost or {each.principal for each in found}.isdisjoint(PRINCIPALS)
        seen.add(bool(lost))
    assert len(seen) == 2


def test_a_loss_is_found_where_an_acl_of_the_plans_set_keeps_it() -> None:
    """The first ACL on a name ends the default rule. The plan's set kept READ for A."""
    first, kept = allow("t", principal="User:z"), allow("t", principal=A)
    [loss] = unplanned_losses([], [first], ([], [first, kept]), OPEN)
    assert loss[:2] == (A, Operation.READ)


def test_a_former_super_user_keeps_what_its_acls_allow() -> None:
    rules = [allow("t")]
    for before, after in ((ROOTED, CONFIG), (CONFIG, ROOTED)):
        compared = SetComparison(rules, rules, before, after_config=after)
        [cell] = [each for each in compared.differences() if each.name == "t"]
        by_acl = 1 << Operation.READ | 1 << Operation.DESCRIBE
        assert sorted((cell.before, cell.after)) == [by_acl, ALL_OF_A_TOPIC]
        assert cell.names == ("t", True)


def test_the_default_rule_of_one_configuration_gives_names_without_acls_their_own_cells() -> None:
    rules = [allow("t", principal="User:z")]
    for before, after in ((OPEN, CONFIG), (CONFIG, OPEN)):
        compared = SetComparison(rules, rules, before, after_config=after)
        [cell] = [
            each
            for session, cells in compared.compared()
            for each in cells
            if not session.is_named and each.name == "t"
        ]
        assert (cell.names, cell.before, cell.after) == (("t", True), 0, 0)

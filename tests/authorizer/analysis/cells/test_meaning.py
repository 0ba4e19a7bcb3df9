"""The statements of a difference about patterns, principals and hosts equal every combination."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from ipaddress import ip_address, ip_network
from itertools import product
from random import Random

from authorizer.analysis.cells.clients import ANY_HOST
from authorizer.analysis.cells.difference import SetComparison
from authorizer.analysis.cells.meaning import AccessChange, AccessChangeKind, access_changes
from authorizer.analysis.cells.names import NamePattern
from authorizer.analysis.cells.sessions import PrincipalSet, Requests, checked_operations
from authorizer.config import AuthorizerConfig
from authorizer.kafka_version import KafkaVersion
from metalog.acl import Acl, Operation, ResourceType
from metalog.hosts.host_block import host_block
from tests.support.worlds.random_worlds import CLIENTS, PRINCIPALS, Answers, World, acl, acls, world
from tests.support.worlds.small_acls import allow, deny

TOPIC = ResourceType.TOPIC


def is_of(change: AccessChange, name: str) -> bool:
    if change.pattern == NamePattern("") and name.startswith("*"):
        return False
    excepted = any(each.pattern.holds(name) for each in change.exceptions)
    return change.pattern.holds(name) and not excepted


def is_from(change: AccessChange, client: str) -> int | None:
    """The rank of the narrowest host of the statement that contains the client."""
    if change.host is None:
        return 0
    if host_block(change.host) is None:
        return 200 if change.host == client else None
    block = ip_network(change.host, strict=False)
    return block.prefixlen + 1 if ip_address(client) in block else None


def turned(
    changes: list[AccessChange], principal: str, client: str, name: str, operation: Operation
) -> AccessChangeKind:
    found = [
        (named, narrow, change.change)
        for change in changes
        for named in (principal in change.principals,)
        if (named or None in change.principals) and operation in change.operations
        if (narrow := is_from(change, client)) is not None and is_of(change, name)
    ]
    if not found:
        return AccessChangeKind.KEEPS
    best = {max(found)[2], max(found, key=lambda each: (each[1], each[0]))[2]}
    assert len(best) == 1, found
    return best.pop()


def test_every_statement_and_every_silence_is_true() -> None:
    random = Random(11)
    seen = set()
    for number in range(60):
        small = world(random, 3)
        configs = small.config, small.config if number % 2 else world(random, 2).config
        before = acls(random, small)
        after = [each for each in before if random.random() < 0.8]
        after += [acl(random, small) for _ in range(random.randint(0, 2))]
        compared = SetComparison(before, after, configs[0], after_config=configs[1])
        changes = [each for each in access_changes(compared) if each.kind is small.kind]
        some = small._replace(names=random.sample(small.names, 25))
        sides = [Answers(*each) for each in zip((before, after), configs, strict=True)]
        supers = configs[0].super_users & configs[1].super_users
        check(changes, some, supers, random.sample(CLIENTS, 5), sides)
        seen |= {(each.change, bool(each.exceptions), each.host is None) for each in changes}
    assert len(seen) >= 9


def check(
    changes: list[AccessChange],
    small: World,
    supers: Collection[str],
    clients: Sequence[str],
    sides: Sequence[Answers],
) -> None:
    asked = [each for each in Operation if checked_operations(small.kind) >> each & 1]
    for principal, client in product(PRINCIPALS, clients):
        masks = [each.on(small.kind, principal, client, small.names) for each in sides]
        for name, was, is_now in zip(small.names, *masks, strict=True):
            relevant = was ^ is_now or any(is_of(change, name) for change in changes)
            for operation in asked if relevant else ():
                turn = (was >> operation & 1, is_now >> operation & 1)
                wanted = {(0, 1): AccessChangeKind.GAINS, (1, 0): AccessChangeKind.LOSES}.get(
                    turn, AccessChangeKind.KEEPS
                )
                if principal in supers:
                    continue
                found = turned(changes, principal, client, name, operation)
                assert found is wanted, (principal, client, name, operation, changes)
    for change in changes:
        question = change.witness
        assert question.host is not None
        asked_of = small.kind, question.principal, question.host, [question.resource_name]
        answers = [bool(each.on(*asked_of)[0] >> question.operation & 1) for each in sides]
        assert answers == [change.before, change.after]


def test_a_gain_has_the_names_that_were_lost_as_exceptions() -> None:
    before = [allow("pay-eu"), allow("pay-us")]
    after = [allow("pay-", prefixed=True), deny("pay-eu")]
    changes = access_changes(SetComparison(before, after, AuthorizerConfig()))
    gain, loss = (each for each in changes if Operation.READ in each.operations)
    assert (gain.change, gain.pattern) == (AccessChangeKind.GAINS, NamePattern("pay-"))
    assert [tuple(each) for each in gain.exceptions] == [
        (NamePattern("pay-eu", True), True, False),
        (NamePattern("pay-us", True), True, True),
    ]
    assert (loss.change, loss.pattern) == (AccessChangeKind.LOSES, NamePattern("pay-eu", True))


def test_sets_that_differ_in_texts_alone_mean_the_same() -> None:
    before = [allow("t", Operation.READ), allow("t", Operation.DESCRIBE)]
    assert access_changes(SetComparison(before, before[:1], AuthorizerConfig())) == []


def stated(before: list[Acl], after: list[Acl]) -> list[AccessChange]:
    return access_changes(SetComparison(before, after, AuthorizerConfig()))


def test_a_statement_joins_the_operations_and_the_principals_of_one_change() -> None:
    every = [allow("t", Operation.ALL, principal=f"User:{each}") for each in "ba"]
    [change] = stated([], every)
    operations = tuple(each for each in Operation if checked_operations(TOPIC) >> each & 1)
    assert change == AccessChange(
        AccessChangeKind.GAINS,
        ("User:a", "User:b"),
        None,
        TOPIC,
        NamePattern("t", True),
        (),
        operations,
        False,
        True,
        change.witness,
    )
    assert change.witness[:4] == ("User:a", operations[0], TOPIC, "t")


def test_who_is_not_named_has_a_statement_of_its_own_and_the_first() -> None:
    """``Group:`` comes before ``User:``, and nobody's name before both."""
    rules = [allow("u", principal="User:*"), allow("t", principal="Group:x")]
    rules += [deny("u", principal="Group:a")]
    changes = stated([], rules)
    assert [each.principals for each in changes] == [(None,), ("Group:a",), ("Group:x",)]
    assert {each.principals: each.change for each in changes} == {
        (None,): AccessChangeKind.GAINS,
        ("Group:a",): AccessChangeKind.KEEPS,
        ("Group:x",): AccessChangeKind.GAINS,
    }


def test_the_clients_that_no_acl_names_come_first() -> None:
    rules = [allow("t"), allow("t", Operation.WRITE, host="10.0.0.9"), deny("u")]
    changes = stated([], rules)
    assert [each.host for each in changes] == [None, "10.0.0.9"]
    assert [each.operations for each in changes] == [
        (Operation.READ, Operation.DESCRIBE),
        (Operation.READ, Operation.WRITE, Operation.DESCRIBE),
    ]


def test_each_statement_has_names_of_its_type() -> None:
    rules = [allow("t", prefixed=True), allow("tu", kind=ResourceType.GROUP)]
    topics, groups = stated([], rules)
    for change, kind, name in ((topics, TOPIC, "t"), (groups, ResourceType.GROUP, "tu")):
        assert (change.kind, change.witness.resource_type) == (kind, kind)
        assert change.witness.resource_name.startswith(name)


def test_a_block_inside_another_that_decides_the_same_has_no_statement() -> None:
    config = AuthorizerConfig(kafka_version=KafkaVersion.V4_4)
    wide, narrow = (allow("t", host=host) for host in ("10.0.0.0/8", "10.0.0.0/31"))
    wide, narrow = (each._replace(principal="User:*") for each in (wide, narrow))
    for after, hosts in (
        ([wide, narrow], ["10.0.0.0/8"]),
        ([wide, narrow, allow("t", host="10.0.0.0/31")], ["10.0.0.0/8"]),
        ([wide, narrow._replace(operation=Operation.WRITE)], ["10.0.0.0/31", "10.0.0.0/8"]),
    ):
        changes = access_changes(SetComparison([], after, config))
        assert sorted(each.host or "" for each in changes) == hosts
        assert {each.principals for each in changes} == {(None,)}


def test_an_own_acl_from_where_everybody_gains_has_no_statement() -> None:
    rules = [allow("t", principal=who, host="10.0.0.9") for who in ("User:*", "User:bob")]
    [change] = stated([], rules)
    assert (change.principals, change.host) == ((None,), "10.0.0.9")


def test_who_is_named_beside_has_a_statement_only_of_another_change() -> None:
    beside = Requests(
        PrincipalSet(frozenset({"User:x"}), False),
        ANY_HOST,
        checked_operations(TOPIC),
        TOPIC,
        NamePattern("t"),
    )
    rules = [allow("t", principal="User:*")]
    for own, wanted in ((), [(None,)]), ((deny("t", principal="User:x"),), [(None,), ("User:x",)]):
        compared = SetComparison([], [*rules, *own], AuthorizerConfig(), separate=[beside])
        assert [each.principals for each in access_changes(compared)] == wanted


def test_who_becomes_a_super_user_while_all_others_lose_keeps_its_access() -> None:
    """The names of ``User:x`` are in no ACL, but a statement about others does not tell of it."""
    before, after = AuthorizerConfig(allow_everyone=True), AuthorizerConfig(frozenset({"User:x"}))
    changes = access_changes(SetComparison([], [], before, after_config=after))
    topics = [each for each in changes if each.kind is TOPIC]
    assert [(each.principals, each.change) for each in topics] == [
        ((None,), AccessChangeKind.LOSES),
        (("User:x",), AccessChangeKind.KEEPS),
    ]

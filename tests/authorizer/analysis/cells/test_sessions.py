"""The sessions of a claim: whose they are, and on which names they have cells."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from random import Random

import pytest

from authorizer.analysis.cells.clients import ANY_HOST, HostSet
from authorizer.analysis.cells.names import ALL_NAMES, NameClass, NamePattern, Patterns
from authorizer.analysis.cells.sessions import (
    ANYBODY,
    PrincipalSet,
    Requests,
    Session,
    SessionAround,
    Sessions,
    _count_beginning,
    _HostsOfNames,
    checked_operations,
)
from authorizer.config import AuthorizerConfig
from authorizer.kafka_version import KafkaVersion
from metalog.acl import Acl, Operation, ResourceType
from tests.support.worlds.random_worlds import NARROW, WIDE, A, B
from tests.support.worlds.scanned_names import NAMES, as_acl, matches, some
from tests.support.worlds.small_acls import allow, deny

PLAIN, OPEN = AuthorizerConfig(), AuthorizerConfig(allow_everyone=True)
BLOCKS = AuthorizerConfig(kafka_version=KafkaVersion.V4_4)
ROOTED = AuthorizerConfig(super_users=frozenset({A}))
TOPIC = ResourceType.TOPIC
READ = 1 << Operation.READ
EVERYBODY = "User:*"


def asked(
    names: NamePattern = ALL_NAMES, principals: PrincipalSet = ANYBODY, operations: int = READ
) -> Requests:
    return Requests(principals, ANY_HOST, operations, TOPIC, names)


def of(found: Iterable[Session], principal: str) -> list[Session]:
    return [each for each in found if each.principal == principal]


def test_a_claim_beside_has_its_own_principals_hosts_and_names() -> None:
    beside = Requests(
        PrincipalSet(frozenset({"User:x"}), False),
        HostSet(frozenset({"10.0.0.7"}), False),
        READ,
        TOPIC,
        NamePattern("t"),
        (NamePattern("tu"),),
    )
    claimed = asked()._replace(excluded=(NamePattern("v"),))
    other = beside._replace(names=NamePattern("w"), excluded=())
    for separate in ([beside], [beside, other], [other, beside]):
        found = list(Sessions([], PLAIN, claimed, separate=separate))
        assert {each.principal for each in found} == {"User:somebody", "User:x"}
        for session in found:
            names = {NameClass("", False), NameClass("t", False), NameClass("tu", False)}
            assert {each for each in session.names if each.name[:1] != "*"} >= names
            assert not any(each.name.startswith("v") for each in session.names)
            assert {"v"} <= {name for each in session.dividing for name in each.prefixes}
        assert {each.clients.host for each in found} == {None, "10.0.0.7"}
    of_groups = beside._replace(kind=ResourceType.GROUP)
    [session] = Sessions([], PLAIN, asked(), separate=[of_groups])
    assert session.dividing == []
    assert session.clients.host is None


def test_a_claim_is_near_the_acls_on_its_type_and_names() -> None:
    acl, other = allow("t"), allow("u")
    group = allow("t", kind=ResourceType.GROUP)
    assert asked(NamePattern("t")).near([acl, other, group]) == [acl]


def test_a_super_user_has_one_session_as_no_acl_concerns_it() -> None:
    rules = [allow("t", principal=A, host="10.0.0.1"), allow("t", principal=B, host="10.0.0.2")]
    [session] = of(Sessions(rules, ROOTED, asked()), A)
    assert (session.is_named, session.kind, session.dividing) == (True, TOPIC, [])
    assert NameClass("", False) in session.names
    assert session.clients.host is None
    beside = asked()._replace(hosts=HostSet(frozenset({"10.0.0.1"})))
    assert len(of(Sessions(rules, ROOTED, asked(), separate=[beside]), A)) == 1
    assert of(Sessions(rules, ROOTED, asked(), rules), A) == []


def test_somebody_is_a_principal_whom_nothing_names() -> None:
    names = frozenset({"User:somebody-else"})
    rules = [allow("t", principal="User:somebody")]
    found = list(Sessions(rules, PLAIN, asked(principals=PrincipalSet(names))))
    others = {each.principal for each in found if not each.is_named}
    assert others
    assert others.isdisjoint({*names, "User:somebody"})
    assert [each.principal for each in found if each.is_named] == ["User:somebody"]


def test_a_claim_has_no_session_of_an_excluded_principal() -> None:
    rules = [allow("t", principal=A), allow("t", principal=B)]
    found = Sessions(rules, PLAIN, asked(principals=PrincipalSet(frozenset({A}))))
    assert {each.principal for each in found if each.is_named} == {B}


def names_of(found: Iterable[Session]) -> set[tuple[str, bool]]:
    return {(names.name, names.is_literal) for each in found for names in each.names}


def test_a_principal_has_cells_only_on_the_names_of_its_own_acls() -> None:
    everyones = [allow(f"u{each}", principal=EVERYBODY, host="10.0.0.9") for each in range(9)]
    rules = [allow("t", principal=A), *everyones]
    [session] = of(Sessions(rules, PLAIN, asked()), A)
    assert names_of([session]) == {("t", True)}
    assert session.around == (SessionAround((session.clients.client, "User:somebody")),)
    as_a = asked(principals=PrincipalSet(frozenset({A}), False))
    apart = Sessions(rules, PLAIN, asked(), separate=[as_a])
    assert len(names_of(of(apart, A))) > 9
    assert len(names_of(Sessions(rules, PLAIN, as_a))) > 9


def test_a_session_has_the_sessions_around_it() -> None:
    hosts = (WIDE, NARROW)
    for who in (A, EVERYBODY):
        rules = [allow("t", principal=who, host=host) for host in hosts]
        found = list(Sessions(rules, BLOCKS, asked()))
        clients = {each.clients.host: each.clients.client for each in found}
        somebody = "User:somebody"
        outside = next(each.clients.client for each in found if each.clients.host is None)
        by_host = {each.clients.host: each for each in found if each.principal != somebody}
        if who == A:
            wide, narrow = (by_host[host] for host in hosts)
            assert wide.around == (
                SessionAround((clients[WIDE], somebody)),
                SessionAround((outside, A), (outside, somebody)),
            )
            assert narrow.around == (
                SessionAround((clients[NARROW], somebody)),
                SessionAround((clients[WIDE], A)),
            )
        else:
            wide, narrow = (each for each in found if each.clients.host in hosts)
            assert wide.around == (SessionAround((outside, somebody)),)
            assert narrow.around == (SessionAround((clients[WIDE], somebody)),)


def test_an_acl_of_another_principal_turns_no_decision_where_there_is_an_own_one() -> None:
    changed = allow("t", principal=B)
    rules = [allow("t", principal=A), changed]
    found = list(Sessions(rules, OPEN, asked(), [changed]))
    assert of(found, A) == []
    assert names_of(of(found, B)) == {("t", True)}
    some_set = Sessions(rules, OPEN, asked(), [changed], any_subset=True)
    assert names_of(of(some_set, A)) == {("t", True)}


@pytest.mark.parametrize(
    ("acl", "is_about"),
    [
        (allow("t", Operation.READ, A), True),  # implies it
        (deny("t", Operation.READ, A), False),
        (deny("t", Operation.DESCRIBE, A), True),
        (allow("t", Operation.CREATE, A), False),
        (allow("t", Operation.ALL, A), True),
    ],
)
def test_an_acl_divides_the_requests_of_the_operations_that_it_decides(
    acl: Acl, is_about: bool
) -> None:
    found = Sessions([acl], PLAIN, asked(operations=1 << Operation.DESCRIBE))
    assert bool(of(found, A)) is is_about


def test_kafka_checks_no_operation_on_an_unknown_type() -> None:
    assert checked_operations(ResourceType.UNKNOWN) == 0
    assert checked_operations(TOPIC).bit_count() == 8


def test_sessions_without_names_are_of_each_principal_and_client() -> None:
    rules = [allow("t", principal=A, host="10.0.0.1"), allow("t", principal=B)]
    found = list(Sessions(rules, PLAIN, asked()).without_names())
    assert {(each.principal, each.is_named, each.clients.host) for each in found} == {
        ("User:somebody", False, None),
        (A, True, None),
        (A, True, "10.0.0.1"),
        (B, True, None),
    }
    assert {(each.kind, tuple(each.names), tuple(each.dividing)) for each in found} == {
        (TOPIC, (), ())
    }
    named = asked(principals=PrincipalSet(frozenset({B}), False))
    assert {each.principal for each in Sessions(rules, PLAIN, named).without_names()} == {B}


def test_names_with_all_prefixes_are_counted_as_by_a_linear_scan() -> None:
    names = sorted(name for name in (*NAMES, "", "+a", ",") if len(name) < 4)
    stems = ("", "a", "ab", "b", "*", "*a", "+", ",", "~", "c", "aab")
    for prefixes in product(stems, stems):
        counted = sum(
            all(map(name.startswith, prefixes)) and not name.startswith("*") for name in names
        )
        assert _count_beginning(names, *prefixes) == counted, prefixes


def test_the_hosts_of_a_name_are_those_of_a_linear_scan() -> None:
    random = Random(8)
    seen = set()
    for _ in range(80):
        by_host = {host: some(random, 3) for host in ("*", "10.0.0.1", "10.0.0.2")}
        others = [some(random, 2) for _ in range(random.randint(0, 2))]
        wanted = {
            host
            for host, patterns in by_host.items()
            for name in NAMES
            if host != "*"
            and any(matches(each, name) for each in patterns)
            and any(matches(each, name) for other in others for each in other)
        }
        hosts = _HostsOfNames({host: Patterns(each) for host, each in by_host.items()})
        assert hosts.meeting(list(map(Patterns, others))) == wanted, (by_host, others)
        seen.add(len(wanted))
    assert seen == {0, 1, 2}
    assert _HostsOfNames({"*": Patterns.of([as_acl(ALL_NAMES)])}).meeting([]) == set()


def test_the_cells_of_a_principal_are_at_least_everybodys_names_under_its_own() -> None:
    everyones = [allow(f"t{each}", principal=EVERYBODY) for each in range(9)]
    own = [allow("t", principal=A, prefixed=True)]
    cells = Sessions([*everyones, *own], PLAIN, asked())
    assert cells.least_cells() == 9
    narrow = Sessions([*everyones, *own], PLAIN, asked(NamePattern("t1")))
    assert narrow.least_cells() == 1
    literal = Sessions([*everyones, allow("t1", principal=A)], PLAIN, asked())
    assert literal.least_cells() <= len(names_of(of(literal, A)))
    assert Sessions(everyones, PLAIN, asked()).least_cells() == 0
    changed = allow("*", principal=EVERYBODY)
    turned = Sessions([*everyones, *own, changed], PLAIN, asked(), [changed])
    assert turned.least_cells() == 9
    assert Sessions([*everyones, *own, changed], PLAIN, asked(), own).least_cells() == 0
    nested = [allow("tabc"[:end], principal=EVERYBODY, prefixed=True) for end in range(1, 5)]
    assert Sessions([*nested, *own], PLAIN, asked(NamePattern("tabc"))).least_cells() == 1
    elsewhere = allow("u", principal=A, prefixed=True)
    assert Sessions([*everyones, elsewhere], PLAIN, asked()).least_cells() == 0

"""For small random worlds, a proof by one question for each cell equals a check of every
question."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from authorizer.analysis.cells import enumeration
from authorizer.analysis.cells.claim_remedy import claim_remedy
from authorizer.analysis.cells.claims import AccessClaim, ClaimKind, Witness, prove
from authorizer.analysis.cells.clients import ANY_HOST, HostSet
from authorizer.analysis.cells.difference import SetComparison
from authorizer.analysis.cells.enumeration import planned
from authorizer.analysis.cells.names import (
    PLAIN,
    NameClass,
    NamePattern,
    Patterns,
    classes,
    plain_name,
)
from authorizer.analysis.cells.sessions import (
    ANYBODY,
    PrincipalSet,
    Requests,
    Sessions,
    checked_operations,
)
from authorizer.api import RequestContext
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import AuthorizationResult
from authorizer.kafka_version import KafkaVersion
from authorizer.standard import StandardAuthorizer
from metalog.acl import Acl, Operation, PermissionType, ResourceType
from metalog.errors import InvalidRequest
from metalog.hosts.client_host import java_text
from tests.support.worlds import spec
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
from tests.support.worlds.small_acls import BOB, allow

SMALL, LARGE = 3, 4
"""The length of names over four characters; patterns are shorter by one."""


def holds(claim: AccessClaim, small: World, answers: Answers) -> bool:
    return all(_holds(claim.kind, each, small, answers) for each in claim.requests)


def _holds(kind: ClaimKind, asked: Requests, small: World, answers: Answers) -> bool:
    names = [name for name in small.names if is_about(asked, name)]
    allowed_to: dict[str, int] = dict.fromkeys(asked.principals.names, 0)
    for principal, client in product(PRINCIPALS, CLIENTS):
        if not is_from(asked.hosts, client):
            continue
        is_asked = asked.principals.holds(principal)
        masks = answers.on(small.kind, principal, client, names)
        some, all_of_them = 0, asked.operations
        for mask in masks:
            some |= mask & asked.operations
            all_of_them &= mask
        if kind is ClaimKind.DENY and is_asked and some:
            return False
        if kind is ClaimKind.ALLOW and is_asked and all_of_them != asked.operations:
            return False
        if kind is ClaimKind.ONLY and not is_asked and some:
            return False
        if is_asked:
            allowed_to[principal] = allowed_to.get(principal, 0) | some
    if kind is not ClaimKind.ONLY:
        return True
    return all(allowed_to[each] == asked.operations for each in asked.principals.names)


def breaks(witness: Witness, acls: list[Acl], small: World) -> bool:
    question, config = witness.question, small.config
    assert question.host is not None
    assert java_text(question.host) == question.host
    if question.principal in config.super_users:
        return witness.is_allowed
    decision = spec.decide(
        acls,
        ({question.principal}, question.host),
        question.operation,
        question.resource_type,
        question.resource_name,
        config.allow_everyone,
        config.kafka,
    )
    return bool(decision.result) is witness.is_allowed


@pytest.mark.parametrize(("longest", "worlds"), [(SMALL, 180), (LARGE, 4)])
def test_a_claims_verdict_is_that_of_every_combination(longest: int, worlds: int) -> None:
    random = Random(5)
    verdicts = set()
    for number in range(worlds):
        small = world(random, longest)
        rules = acls(random, small)
        asked = requests(random, small)
        kind = random.choice(list(ClaimKind))
        if kind is ClaimKind.ONLY:
            names = asked.principals.names or frozenset({"User:a"})
            asked = asked._replace(
                principals=asked.principals._replace(names=names)._replace(is_excluded=False)
            )
        claim = AccessClaim(kind, (asked,))
        if kind is ClaimKind.ONLY and not any(is_about(asked, name) for name in small.names):
            with pytest.raises(InvalidRequest, match="no such request is possible"):
                prove(rules, small.config, claim)
            continue
        found = prove(rules, small.config, claim)
        assert found.is_proven is holds(claim, small, Answers(rules, small.config)), (number, claim)
        if found.witness is not None:
            assert breaks(found.witness, rules, small), (number, found)
            assert is_from(asked.hosts, found.witness.question.host or "")
            assert is_about(asked, found.witness.question.resource_name)
            change = claim_remedy(rules, small.config, found.witness)
            if change is None:
                assert found.witness.question.principal in small.config.super_users
            else:
                left = [each for each in rules if each not in change.remove]
                assert not breaks(found.witness, [*left, *change.add], small)
        verdicts.add((kind, found.is_proven))
    assert longest > SMALL or len(verdicts) == 2 * len(ClaimKind)


@pytest.mark.parametrize(("longest", "worlds"), [(SMALL, 80), (LARGE, 3)])
def test_a_difference_is_that_of_every_combination(longest: int, worlds: int) -> None:
    random = Random(7)
    seen = set()
    for number in range(worlds):
        small = world(random, longest)
        before = acls(random, small)
        after = [each for each in before if random.random() < 0.8]
        after += [acl(random, small) for _ in range(random.randint(0, 2))]
        sides = [Answers(each, small.config) for each in (before, after)]
        compared = SetComparison(before, after, small.config)
        gained = lost = 0
        for change in compared.differences():
            session = change.session
            who = small.kind, session.principal, session.clients.client
            asked = checked_operations(small.kind)
            answers = [each.on(*who, [change.name])[0] & asked for each in sides]
            assert answers == [change.before, change.after]
            gained |= change.after & ~change.before
            lost |= change.before & ~change.after
        wanted = _gained_and_lost(small, *sides)
        assert (gained, lost) == wanted, (number, small.config, before, after)
        turned = _turned_by_type(small, before, after)
        if not gained and not lost:
            assert bool(list(compared.by_type())) is turned, (number, before, after)
        seen.add((bool(gained), bool(lost), before == after))
    assert longest > SMALL or len(seen) >= 5


def _gained_and_lost(small: World, before: Answers, after: Answers) -> tuple[int, int]:
    gained = lost = 0
    for who in product((small.kind,), PRINCIPALS, CLIENTS, (small.names,)):
        for was, is_now in zip(before.on(*who), after.on(*who), strict=True):
            gained |= is_now & ~was
            lost |= was & ~is_now
    asked = checked_operations(small.kind)
    return gained & asked, lost & asked


def _turned_by_type(small: World, *sets: list[Acl]) -> bool:
    if small.kind is not ResourceType.TOPIC:
        return False
    config = small.config
    authorizers = [
        StandardAuthorizer.from_acls(
            each,
            super_users=config.super_users,
            allow_everyone=config.allow_everyone,
            kafka_version=config.kafka.value,
            tolerant=True,
        )
        for each in sets
    ]
    for principal in PRINCIPALS:
        for client in CLIENTS:
            context = RequestContext(principal, client)
            before, after = (
                each.authorize_by_resource_type(context, Operation.WRITE, small.kind)
                for each in authorizers
            )
            if before is not after:
                return True
    return False


def test_a_claim_of_too_many_cells_is_refused_before_anything_is_asked() -> None:
    random = Random(1)
    small = world(random, SMALL)
    rules = [acl(random, small) for _ in range(20)]
    asked = requests(random, small)
    with pytest.raises(InvalidRequest, match="more than 1 cell; narrow it"):
        prove(rules, small.config, AccessClaim(ClaimKind.DENY, (asked, asked)), most_cells=1)


def test_what_is_known_of_the_number_of_cells_beforehand_is_never_too_much() -> None:
    random = Random(3)
    known = 0
    for number in range(250):
        small = world(random, SMALL)
        rules = acls(random, small, 14)
        asked = requests(random, small)
        if number % 2:
            asked = asked._replace(hosts=ANY_HOST, excluded=(), names=NamePattern(""))
            rules = [each._replace(host="*") for each in rules]
        for differing in (None, rules[:1]):
            sessions = Sessions(rules, small.config, asked, differing)
            least = sessions.least_cells()
            listed = sum(len(each.names) for each in sessions) * asked.operations.bit_count()
            assert least <= listed, (number, rules, asked)
            known += bool(least)
    assert known > 15


def test_principals_times_names_are_refused_without_listing_them() -> None:
    rules = [allow("*", principal=f"User:{each}") for each in range(300)]
    rules += [allow(f"t{each}", principal="User:*") for each in range(300)]
    kind = ResourceType.TOPIC
    asked = Requests(ANYBODY, ANY_HOST, checked_operations(kind), kind, NamePattern(""))
    assert Sessions(rules, AuthorizerConfig(), asked).least_cells() == 300 * 300 * 8


def test_a_plan_keeps_few_names_and_lists_the_others_again(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(31)
    listed_twice = 0
    for _ in range(60):
        small = world(random, SMALL)
        rules, asked = acls(random, small, 9), [requests(random, small) for _ in range(2)]
        plans = []
        for most_kept in (1_000_000, 6):
            monkeypatch.setattr(enumeration, "_MOST_KEPT", most_kept)
            plans.append(planned((each, Sessions(rules, small.config, each)) for each in asked))
        everything, less = plans
        assert everything.cells == less.cells
        for (_, sessions), (_, again) in zip(everything.sessions, less.sessions, strict=True):
            its_names = [[(each.clients, each.names) for each in of] for of in (sessions, again)]
            assert its_names[0] == its_names[1]
        kept = [each for _, each in less.sessions if not isinstance(each, Sessions)]
        assert sum(len(session.names) for each in kept for session in each) <= 6
        listed_twice += len(kept) < len(asked)
    assert 10 < listed_twice < 60


def test_sessions_share_the_names_into_which_everybodys_acls_divide_theirs() -> None:
    everyones = Patterns.of([allow(f"t{each}") for each in range(9)])
    listed = [classes([Patterns.of([allow("t")]), everyones], NamePattern("t")) for _ in range(2)]
    assert listed[0] == listed[1]
    assert everyones.beginning_with("t") is everyones.beginning_with("t")
    assert {id(each) for each in everyones.beginning_with("t")} < {id(each) for each in listed[1]}


def test_hosts_that_name_every_address_leave_others_to_whom_they_do_not_concern() -> None:
    """Found by volume: no address was left for principals whose ACLs name few addresses."""
    config = AuthorizerConfig(allow_everyone=True, kafka_version=KafkaVersion.V4_4)
    every = [allow("b", host=host) for host in ("0.0.0.0/0", "::/0")]
    goes = allow("pay-", principal="User:*", host="::/0", prefixed=True)
    found = list(SetComparison([*every, goes], every, config).differences())
    assert {(each.session.is_named, each.name) for each in found} == {(False, "pay-x")}
    assert {each.session.clients.host for each in found} == {None, "::/0"}


LINK_LOCAL = "fe80:0:0:0:0:0:0:1"


@pytest.mark.parametrize(
    ("named", "other"), [(LINK_LOCAL, f"{LINK_LOCAL}%1"), (f"{LINK_LOCAL}%2", LINK_LOCAL)]
)
def test_an_address_leaves_a_block_the_clients_with_other_zones(named: str, other: str) -> None:
    config = AuthorizerConfig(kafka_version=KafkaVersion.V4_4)
    kind, operations = ResourceType.TOPIC, 1 << Operation.READ
    asked = Requests(ANYBODY, ANY_HOST, operations, kind, NamePattern("t", is_literal=True))
    block, address = allow("t", host="fe80::1/128"), allow("t", host=named)
    denied = address._replace(permission_type=PermissionType.DENY)
    witness = prove([block, denied], config, AccessClaim(ClaimKind.DENY, (asked,))).witness
    assert witness is not None
    assert witness.question.host == other
    gained = list(SetComparison([address], [address, block], config).differences())
    assert [each.session.clients.client for each in gained] == [other]


@pytest.mark.parametrize("block", ["255.255.255.255/32", f"{'ffff:' * 7}ffff/128"])
def test_the_last_address_of_all_is_a_client(block: str) -> None:
    config = AuthorizerConfig(kafka_version=KafkaVersion.V4_4)
    [change] = SetComparison([], [allow("t", host=block)], config).differences()
    assert change.session.clients.client == block.partition("/")[0]


def test_only_cells_that_the_change_can_turn_are_asked() -> None:
    change = allow("pay-", prefixed=True)
    for others in (10, 200):
        rules = [
            allow(f"team-{number}", principal=f"User:{number}", host=f"10.0.{number}.1")
            for number in range(others)
        ]
        assert SetComparison(rules, [*rules, change], AuthorizerConfig()).cells == 8


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ([], [allow("no topic", Operation.WRITE)], [True]),
        ([allow("no topic", Operation.WRITE)], [allow("no topic", Operation.ALL)], []),
        ([], [allow("no topic")], []),
    ],
)
def test_a_name_that_no_topic_can_have_matters_to_producers_that_begin(
    before: list[Acl], after: list[Acl], allowed: list[bool]
) -> None:
    """InitProducerId asks by resource type (KIP-679), which looks at patterns, not at names."""
    compared = SetComparison(before, after, AuthorizerConfig())
    assert list(compared.differences()) == []
    assert [each.allowed for each in compared.by_type()] == allowed


EVERYWHERE_UNDER_A = [
    *(allow(f"a{each}", Operation.ALL, prefixed=True) for each in PLAIN),
    allow("a", Operation.ALL),
]
EVERYWHERE = [allow(each, Operation.ALL, prefixed=True) for each in PLAIN]


@pytest.mark.parametrize(
    ("denied", "allowed"),
    [
        (EVERYWHERE_UNDER_A, allow("a", Operation.WRITE, prefixed=True)),
        (EVERYWHERE, allow("*", Operation.WRITE)),
        (EVERYWHERE, allow("", Operation.WRITE, prefixed=True)),
    ],
)
def test_a_pattern_whose_every_name_has_a_longer_one_matters_to_producers_that_begin(
    denied: list[Acl], allowed: Acl
) -> None:
    before = [each._replace(permission_type=PermissionType.DENY) for each in denied]
    after = [*before, allowed]
    context = RequestContext(allowed.principal, "10.0.0.1")
    for rules, is_allowed in ((before, False), (after, True)):
        authorizer = StandardAuthorizer.from_acls(rules, tolerant=True)
        kind = ResourceType.TOPIC
        answer = authorizer.authorize_by_resource_type(context, Operation.WRITE, kind)
        assert (answer is AuthorizationResult.ALLOWED) is is_allowed
    compared = SetComparison(before, after, AuthorizerConfig())
    assert list(compared.differences()) == []
    assert [(each.session.principal, each.allowed) for each in compared.by_type()] == [(BOB, True)]


@pytest.mark.parametrize(
    ("names", "literals", "prefixes", "plain"),
    [
        (NameClass("pay", False), [], ["pay"], "pay"),
        (NameClass("pay", False), ["pay"], ["pay"], "payx"),
        (NameClass("pay-", False), ["pay-x"], ["pay-", "pay-y"], "pay-z"),
        (NameClass("", False), ["x"], ["y", *"zabcdefghijklmnopqrstuvw"], "0"),
        (NameClass("a" * 249, False), ["a" * 249], ["a" * 249], None),
        (NameClass("", False), ["x", "x-"], [*PLAIN[1:]], "xx"),
        (NameClass("a b", True), ["a b"], [], None),
        (NameClass("*", False), [], [], None),
    ],
)
def test_a_witness_has_the_plainest_name_that_a_topic_can_have(
    names: NameClass, literals: list[str], prefixes: list[str], plain: str | None
) -> None:
    rules = [allow(name) for name in literals] + [allow(name, prefixed=True) for name in prefixes]
    assert plain_name(names, ResourceType.TOPIC, [Patterns.of(rules)]) == plain


@pytest.mark.parametrize("kind", ClaimKind)
def test_that_somebody_may_is_not_proven_of_hosts_without_clients(kind: ClaimKind) -> None:
    """An ``only`` claim says that each principal may, so it needs a request. Other claims hold of
    none."""
    nowhere = HostSet(frozenset({"0.0.0.0/0", "::/0"}))
    asked = Requests(
        PrincipalSet(frozenset({"User:a"}), is_excluded=False),
        nowhere,
        1 << Operation.READ,
        ResourceType.TOPIC,
        NamePattern("t", is_literal=True),
    )
    claim = AccessClaim(kind, (asked,))
    if kind is ClaimKind.ONLY:
        with pytest.raises(InvalidRequest, match="no client has such a host"):
            prove([allow("t", principal="User:a")], AuthorizerConfig(), claim)
    else:
        assert prove([], AuthorizerConfig(), claim).cells == 0


def test_a_group_may_have_any_name() -> None:
    rules = [allow(f"g{each}", prefixed=True) for each in PLAIN] + [allow("g")]
    assert plain_name(NameClass("g", False), ResourceType.GROUP, [Patterns.of(rules)]) == "g\xc0"
    assert plain_name(NameClass("*", False), ResourceType.GROUP, []) == "*x"

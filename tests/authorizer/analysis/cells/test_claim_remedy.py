"""A change that ends a broken claim reverses its witness, and says if it reverses anything else."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from authorizer.analysis.cells import claim_remedy as module
from authorizer.analysis.cells.claim_remedy import ClaimRemedy, claim_remedy
from authorizer.analysis.cells.claims import AccessClaim, ClaimKind, Witness, prove
from authorizer.analysis.cells.clients import ANY_HOST, HostSet
from authorizer.analysis.cells.names import ALL_NAMES, NamePattern
from authorizer.analysis.cells.sessions import ANYBODY, PrincipalSet, Requests, checked_operations
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import ALLOWS
from authorizer.trace import Question
from metalog.acl import Acl, Operation, ResourceType
from tests.support.worlds.random_worlds import (
    CLIENTS,
    PRINCIPALS,
    A,
    Answers,
    World,
    acls,
    is_about,
    is_from,
    requests,
    world,
)
from tests.support.worlds.small_acls import BOB, allow, deny

TOPIC = ResourceType.TOPIC
PLAIN, OPEN = AuthorizerConfig(), AuthorizerConfig(allow_everyone=True)
READ = 1 << Operation.READ
ONLY_BOB, ALL_BUT_BOB = PrincipalSet(frozenset({BOB}), False), PrincipalSet(frozenset({BOB}))


T = NamePattern("t", is_literal=True)


def asked(
    names: NamePattern = T,
    principals: PrincipalSet = ANYBODY,
    operations: int = READ,
    hosts: HostSet = ANY_HOST,
    excluded: tuple[NamePattern, ...] = (),
) -> Requests:
    return Requests(principals, hosts, operations, TOPIC, names, excluded)


def ended(
    rules: list[Acl], claimed: Requests, kind: ClaimKind, config: AuthorizerConfig = PLAIN
) -> ClaimRemedy | None:
    witness = prove(rules, config, AccessClaim(kind, (claimed,))).witness
    assert witness is not None
    return claim_remedy(rules, config, witness)


def changes_more(small: World, claimed: Requests, before: Answers, after: Answers) -> bool:
    inside = 0
    for operation in Operation:
        inside |= ALLOWS[operation] if claimed.operations >> operation & 1 else 0
    asked = checked_operations(small.kind)
    for principal, client in product(PRINCIPALS, CLIENTS):
        who = small.kind, principal, client, small.names
        is_of = claimed.principals.holds(principal) and is_from(claimed.hosts, client)
        for name, was, is_now in zip(small.names, before.on(*who), after.on(*who), strict=True):
            about = inside if is_of and is_about(claimed, name) else 0
            if (was ^ is_now) & asked & ~about:
                return True
    return False


def test_a_change_says_whether_it_reverses_a_request_outside_the_claim() -> None:
    random = Random(2)
    seen = set()
    for number in range(60):
        small = world(random, 2)
        rules, claimed = acls(random, small), requests(random, small)
        kind = random.choice((ClaimKind.DENY, ClaimKind.ALLOW))
        witness = prove(rules, small.config, AccessClaim(kind, (claimed,))).witness
        change = None if witness is None else claim_remedy(rules, small.config, witness)
        if witness is None or change is None:
            continue
        assert set(change.remove) <= set(rules)
        after = [*(each for each in rules if each not in change.remove), *change.add]
        sides = [Answers(each, small.config) for each in (rules, after)]
        question = witness.question
        by_set = [
            each.on(small.kind, question.principal, question.host or "", [question.resource_name])
            for each in sides
        ]
        assert (by_set[0][0] ^ by_set[1][0]) >> question.operation & 1, (number, rules, witness)
        is_more = changes_more(small, claimed, *sides)
        assert change.exceeds_claim is is_more, (number, small.config, rules, witness, change)
        seen.add((kind, bool(change.remove), bool(change.add), change.exceeds_claim))
    assert len(seen) >= 6


@pytest.mark.parametrize(
    ("rules", "claimed", "change"),
    [
        ([allow("t")], asked(), ClaimRemedy(remove=(allow("t"),))),
        ([allow("t")], asked(principals=ONLY_BOB), ClaimRemedy(remove=(allow("t"),))),
        # other names, operations or principals would be denied too
        ([allow("*")], asked(), ClaimRemedy(add=(deny("t"),))),
        ([allow("t", prefixed=True)], asked(), ClaimRemedy(add=(deny("t"),))),
        ([allow("t", Operation.ALL)], asked(), ClaimRemedy(add=(deny("t"),))),
        (
            [allow("t", principal="User:*")],
            asked(principals=ONLY_BOB),
            ClaimRemedy(add=(deny("t"),)),
        ),
        # everybody's own
        (
            [allow("*", principal="User:*")],
            asked(),
            ClaimRemedy(add=(deny("t", principal="User:*"),)),
        ),
        (
            [allow("t", principal="User:*")],
            asked(principals=ALL_BUT_BOB),
            ClaimRemedy(remove=(allow("t", principal="User:*"),), add=(allow("t"),)),
        ),
        # a claim about a part of what an ACL can name
        (
            [allow("t", prefixed=True)],
            asked(NamePattern("t"), excluded=(NamePattern("tt"),)),
            ClaimRemedy(
                add=(deny("t")._replace(pattern_type=allow("t", prefixed=True).pattern_type),),
                exceeds_claim=True,
            ),
        ),
    ],
)
def test_a_claim_that_nobody_may_is_ended_with_the_least_effect(
    rules: list[Acl], claimed: Requests, change: ClaimRemedy
) -> None:
    assert ended(rules, claimed, ClaimKind.DENY) == change


@pytest.mark.parametrize(
    ("rules", "claimed", "change"),
    [
        ([], asked(principals=ONLY_BOB), ClaimRemedy(add=(allow("t"),))),
        ([], asked(), ClaimRemedy(add=(allow("t", principal="User:*"),))),
        (
            [],
            asked(principals=ALL_BUT_BOB),
            ClaimRemedy(add=(allow("t", principal="User:*"),), exceeds_claim=True),
        ),
        ([], asked(ALL_NAMES, ONLY_BOB), ClaimRemedy(add=(allow("*"),))),
        ([], asked(NamePattern("t"), ONLY_BOB), ClaimRemedy(add=(allow("t", prefixed=True),))),
        (
            [],
            asked(principals=ONLY_BOB, hosts=HostSet(frozenset({"10.0.0.1"}), False)),
            ClaimRemedy(add=(allow("t"),), exceeds_claim=True),
        ),
        ([allow("t"), deny("t")], asked(principals=ONLY_BOB), ClaimRemedy(remove=(deny("t"),))),
        (
            [allow("t", Operation.ALL), deny("t", Operation.ALL)],
            asked(principals=ONLY_BOB),
            ClaimRemedy(remove=(deny("t", Operation.ALL),), exceeds_claim=True),
        ),
        (
            [deny("t"), deny("*", principal="User:x")],
            asked(principals=ONLY_BOB),
            ClaimRemedy(remove=(deny("t"),), add=(allow("t"),)),
        ),
    ],
)
def test_a_claim_that_all_may_is_ended_with_the_least_effect(
    rules: list[Acl], claimed: Requests, change: ClaimRemedy
) -> None:
    assert ended(rules, claimed, ClaimKind.ALLOW) == change


def test_the_first_acl_on_a_name_ends_that_everybody_may() -> None:
    others = asked(principals=ALL_BUT_BOB, operations=checked_operations(TOPIC))
    change = ended([], others, ClaimKind.DENY, OPEN)
    assert change is not None
    assert change == ClaimRemedy(add=(allow("t", change.add[0].operation),), exceeds_claim=True)
    both = PrincipalSet(frozenset({"User:z", "User:c"}))
    change = ended([], asked(principals=both), ClaimKind.DENY, OPEN)
    assert change == ClaimRemedy(add=(allow("t", principal="User:c"),), exceeds_claim=True)
    everybodys = allow("t", principal="User:*")
    change = ended([everybodys], asked(principals=ALL_BUT_BOB), ClaimKind.DENY, OPEN)
    assert change is not None
    assert (change.remove, change.add) == ((everybodys,), (allow("t"),))


def test_a_name_that_begins_with_the_wildcard_is_denied_by_a_prefix() -> None:
    question = Question(BOB, Operation.READ, ResourceType.GROUP, "*a", "10.0.0.1")
    rules = [allow("*", prefixed=True, kind=ResourceType.GROUP, principal="User:*")]
    claimed = asked(ALL_NAMES, ONLY_BOB)._replace(kind=ResourceType.GROUP)
    change = claim_remedy(rules, PLAIN, Witness(question, True, claimed))
    denied = rules[0]._replace(principal=BOB, permission_type=deny("t").permission_type)
    assert change == ClaimRemedy(add=(denied,))


def test_no_acl_ends_what_a_super_user_may() -> None:
    config = AuthorizerConfig(super_users=frozenset({A}))
    claimed = asked(principals=PrincipalSet(frozenset({A}), False))
    assert ended([], claimed, ClaimKind.DENY, config) is None


def test_a_change_that_is_too_large_to_compare_is_said_to_take_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MOST_CELLS", 7)
    everything = ClaimRemedy(add=(deny("t"),), exceeds_claim=True)
    assert ended([allow("t")], asked(), ClaimKind.DENY) == everything
    monkeypatch.setattr(module, "_MOST_CELLS", 8)
    assert ended([allow("t")], asked(), ClaimKind.DENY) == ClaimRemedy(remove=(allow("t"),))

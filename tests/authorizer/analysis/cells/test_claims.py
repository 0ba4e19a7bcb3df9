"""What a proof counts, and what it says of a claim about several resources."""

from __future__ import annotations

import re

import pytest

from authorizer.analysis.cells import enumeration
from authorizer.analysis.cells.claims import AccessClaim, ClaimKind, prove
from authorizer.analysis.cells.clients import ANY_HOST, HostSet
from authorizer.analysis.cells.enumeration import planned
from authorizer.analysis.cells.names import NamePattern
from authorizer.analysis.cells.sessions import ANYBODY, PrincipalSet, Requests, Sessions
from authorizer.config import AuthorizerConfig
from metalog.acl import Operation, ResourceType
from metalog.errors import InvalidRequest
from tests.support.worlds.random_worlds import A, B
from tests.support.worlds.small_acls import allow

CONFIG = AuthorizerConfig()
TOPIC = ResourceType.TOPIC
READ, WRITE = 1 << Operation.READ, 1 << Operation.WRITE


def one(name: str, operations: int = READ, *principals: str) -> Requests:
    who = PrincipalSet(frozenset(principals), False) if principals else ANYBODY
    return Requests(who, ANY_HOST, operations, TOPIC, NamePattern(name, is_literal=True))


def test_a_proof_decides_each_operation_on_each_cell_once() -> None:
    claim = AccessClaim(ClaimKind.DENY, (one("t", READ | WRITE), one("u")))
    assert prove([], CONFIG, claim) == (3, None)
    several = [allow("t", principal=A, host=f"10.0.0.{each}") for each in range(1, 3)]
    of_hosts = AccessClaim(ClaimKind.DENY, (one("t", WRITE),))
    assert prove([*several, allow("t", Operation.DESCRIBE)], CONFIG, of_hosts).cells == 1
    divided = AccessClaim(ClaimKind.ALLOW, (one("t", READ | WRITE, A),))
    rules = [allow("t", Operation.ALL, A), *several]
    assert prove(rules, CONFIG, divided) == (6, None)


def test_a_broken_claim_says_how_many_cells_were_decided() -> None:
    claim = AccessClaim(ClaimKind.DENY, (one("t", READ | WRITE), one("u")))
    found = prove([allow("u", principal="User:*")], CONFIG, claim)
    assert found.cells == 3
    assert found.witness is not None
    assert found.witness.question.resource_name == "u"


def test_only_a_principal_that_may_do_each_operation_somewhere_keeps_a_claim() -> None:
    prefix = one("t", READ | WRITE, A)._replace(names=NamePattern("t"))
    claim = AccessClaim(ClaimKind.ONLY, (prefix,))
    rules = [allow("t1", Operation.READ, A), allow("t2", Operation.WRITE, A)]
    found = prove(rules, CONFIG, claim)
    assert found.is_proven
    other_requests = prefix._replace(principals=PrincipalSet(frozenset({A})))
    others = prove(rules, CONFIG, AccessClaim(ClaimKind.DENY, (other_requests,))).cells
    assert found.cells == others + 3 * 2
    broken = prove(rules[:1], CONFIG, claim)
    assert broken.witness is not None
    assert broken.witness.question.operation is Operation.WRITE
    assert broken.witness.is_allowed is False


@pytest.mark.parametrize("kind", ClaimKind)
def test_each_resource_of_a_claim_is_proven(kind: ClaimKind) -> None:
    both = AccessClaim(kind, (one("t", READ, A), one("u", READ, A)))
    allowed, breaking = [allow("t", principal=A), allow("u", principal=A)], allow("u", principal=B)
    if kind is ClaimKind.DENY:
        rules, broken = [], allowed[1:]
    elif kind is ClaimKind.ALLOW:
        rules, broken = allowed, allowed[:1]
    else:
        rules, broken = allowed, [*allowed, breaking]
    assert prove(rules, CONFIG, both).is_proven
    witness = prove(broken, CONFIG, both).witness
    assert witness is not None
    assert witness.question.resource_name == "u"


def test_a_claim_without_any_request_is_refused() -> None:
    nowhere = HostSet(frozenset({"0.0.0.0/0", "::/0"}))
    claim = AccessClaim(ClaimKind.ONLY, (one("t", READ, A)._replace(hosts=nowhere),))
    said = "no such request is possible: no client has such a host, or no resource has such a name"
    with pytest.raises(InvalidRequest, match=f"^{re.escape(said)}$"):
        prove([], CONFIG, claim)


def test_a_proof_of_more_cells_than_the_most_is_refused() -> None:
    claim = AccessClaim(ClaimKind.DENY, (one("t", READ | WRITE), one("u", READ | WRITE)))
    assert prove([], CONFIG, claim, most_cells=4).is_proven
    said = (
        "this needs more than 3 cells; narrow it to fewer resources, to named principals,"
        " to one operation or to one host"
    )
    with pytest.raises(InvalidRequest, match=f"^{said}$"):
        prove([], CONFIG, claim, most_cells=3)
    with pytest.raises(InvalidRequest, match="more than 1 cell;"):
        prove([], CONFIG, claim._replace(requests=claim.requests[:1]), most_cells=1)


def test_the_cells_of_all_resources_are_refused_together() -> None:
    wide = one("t")._replace(names=NamePattern(""))
    rules = [allow("*", principal=f"User:{each}") for each in range(9)]
    rules += [allow(f"t{each}", principal="User:*") for each in range(9)]
    first, second = (Sessions(rules, CONFIG, wide) for _ in range(2))
    cells = sum(len(each.names) for each in first)

    assert second.least_cells() == 81
    with pytest.raises(InvalidRequest):
        planned([(wide, first), (wide, second)], most_cells=cells + 80)


@pytest.mark.parametrize("most_kept", range(9))
def test_a_plan_keeps_what_fits(monkeypatch: pytest.MonkeyPatch, most_kept: int) -> None:
    monkeypatch.setattr(enumeration, "_MOST_KEPT", most_kept)
    rules = [allow("t", principal=A, host=f"10.0.0.{each}") for each in range(1, 4)]
    asked = [one("t", READ, A), one("u", READ, A), one("t", READ | WRITE, A), one("v", READ, A)]
    plan = planned((each, Sessions(rules, CONFIG, each)) for each in asked)
    assert plan.cells == 4 + 1 + 8 + 1
    left = most_kept
    for (_, sessions), names in zip(plan.sessions, (4, 1, 4, 1), strict=True):
        assert isinstance(sessions, list) is (names <= left)
        left -= names if isinstance(sessions, list) else 0
        assert sum(len(each.names) for each in sessions) == names

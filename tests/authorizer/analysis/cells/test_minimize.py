"""The smaller set decides every combination as the original set does."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from authorizer.analysis.cells.difference import SetComparison
from authorizer.analysis.cells.minimize import _NearAcls, minimal_set
from authorizer.analysis.cells.names import PLAIN, NamePattern
from authorizer.analysis.cells.sessions import checked_operations
from authorizer.config import AuthorizerConfig
from metalog.acl import SUPPORTED_OPERATIONS, Acl, Operation, PatternType, ResourceType
from tests.support.worlds.random_worlds import CLIENTS, PRINCIPALS, Answers, acls, world
from tests.support.worlds.scanned_names import NAMES, as_acl, matches, some
from tests.support.worlds.small_acls import allow, deny

CONFIG = AuthorizerConfig()
LITERAL = PatternType.LITERAL


def test_the_smaller_set_is_equal_on_every_combination() -> None:
    random = Random(5)
    spared = 0
    for number in range(25):
        small = world(random, 3)
        before = acls(random, small, 12)
        before += [
            each._replace(operation=operation)
            for each in before[:1]
            for operation in SUPPORTED_OPERATIONS[small.kind]
        ]
        kept = random.sample(before, random.randint(0, min(2, len(before))))
        found = minimal_set(before, small.config, kept)
        after = [*(set(before) - set(found.removed)), *found.added]
        assert set(kept) <= set(after)
        assert len(set(after)) <= len(set(before))
        spared += len(set(before)) - len(set(after))
        asked = checked_operations(small.kind)
        sides = [Answers(each, small.config) for each in (before, after)]
        for principal, client in product(PRINCIPALS, CLIENTS):
            was, is_now = (
                [mask & asked for mask in each.on(small.kind, principal, client, small.names)]
                for each in sides
            )
            assert was == is_now, (number, before, found)
    assert spared > 60


def changed(before: list[Acl], shortest_prefix: int | None = None) -> tuple[set[Acl], set[Acl]]:
    if shortest_prefix is None:
        found = minimal_set(before, CONFIG)
    else:
        found = minimal_set(before, CONFIG, shortest_prefix=shortest_prefix)
    return set(found.removed), set(found.added)


def test_what_others_say_is_left_out() -> None:
    prefix = allow("pay-", prefixed=True)
    literals = [allow(f"pay-{each}") for each in range(10)]
    assert changed([prefix, *literals]) == (set(literals), set())
    implied = [allow("t", Operation.READ), allow("t", Operation.DESCRIBE)]
    assert changed(implied) == ({implied[1]}, set())
    idle = deny("never-allowed")
    assert changed([*implied[:1], idle]) == ({idle}, set())


def test_every_operation_becomes_all() -> None:
    singles = [allow("t", each) for each in SUPPORTED_OPERATIONS[ResourceType.TOPIC]]
    assert changed(singles) == (set(singles), {allow("t", Operation.ALL)})


def test_literals_become_a_prefix_only_where_that_gives_nothing_more() -> None:
    literals = [allow(f"pay-{each}") for each in range(10)]
    assert changed(literals) == (set(), set())
    longest = "a" * 248
    both = [allow(longest), *(allow(f"{longest}{each}") for each in PLAIN)]
    prefix = allow(longest, prefixed=True)
    assert changed(both) == (set(both), {prefix})
    assert changed(both, shortest_prefix=249) == (set(), set())
    assert prefix.pattern_type is PatternType.PREFIXED


def test_what_is_kept_stays() -> None:
    implied = [allow("t", Operation.READ), allow("t", Operation.DESCRIBE)]
    assert minimal_set(implied, CONFIG, implied).removed == ()


def test_what_lint_suspects_goes_only_where_the_proof_holds() -> None:
    wide, narrow = allow("pay-", prefixed=True), allow("pay-eu")
    assert minimal_set([wide, narrow], CONFIG, candidates=[{narrow}]).removed == (narrow,)
    assert minimal_set([wide, narrow], CONFIG, candidates=[{wide}]).removed == (narrow,)
    assert minimal_set([wide, narrow], CONFIG, [narrow], candidates=[{narrow}]).removed == ()


def test_an_acl_on_no_topic_stays_where_a_producer_begins_by_it() -> None:
    """Found with odd names: judged by the ACLs near it alone, the default rule let the producer
    begin."""
    on_no_topic = allow("no topic", Operation.WRITE, principal="User:b")
    elsewhere = allow("hardcode", Operation.ALTER, principal="User:z")
    config = AuthorizerConfig(allow_everyone=True)
    assert minimal_set([on_no_topic, elsewhere], config).removed == ()
    assert minimal_set([on_no_topic], config).removed == (on_no_topic,)


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        (allow("t"), deny("t")._replace(pattern_type=PatternType.PREFIXED)),
        (allow("t"), deny("*")),
        (allow("tu", prefixed=True), deny("t")._replace(pattern_type=PatternType.PREFIXED)),
        (allow("tu", prefixed=True), deny("*")),
        (allow("t"), deny("t", principal="User:*")),
        (allow("t", principal="User:z"), deny("t", principal="User:*")),
        (allow("t"), deny("t", Operation.ALL)),
        (allow("t", Operation.WRITE), deny("t", Operation.ALL)._replace(principal="User:*")),
        (allow("t", host="10.0.0.9"), deny("t")),
        (allow("t", host="192.168.0.9"), deny("t")),
        (allow("t", Operation.CREATE, host="10.0.0.9"), deny("t", Operation.ALL)),
    ],
)
def test_an_allow_that_is_always_denied_goes_before_its_deny(narrow: Acl, wide: Acl) -> None:
    """The other way round the DENY would stay, as it still denied something."""
    is_all = wide.operation is Operation.ALL
    described = [] if is_all else [narrow._replace(operation=Operation.DESCRIBE)]
    found = minimal_set([wide, narrow, *described], CONFIG, kept=described)
    assert set(found.removed) == {narrow, wide}
    assert found.added == ()


def test_a_group_is_tried_as_a_whole_first() -> None:
    """One by one the DENY would be tried first, and stay."""
    pair = [allow("t", Operation.WRITE), deny("t", Operation.WRITE)]
    described = allow("t", Operation.DESCRIBE)
    both = minimal_set([*pair, described], CONFIG, kept=[described], candidates=[set(pair)])
    assert set(both.removed) == set(pair)
    kept = minimal_set([*pair, described], CONFIG, [described, pair[1]], candidates=[set(pair)])
    assert kept.removed == (pair[0],)


def test_operations_become_all_only_if_there_are_several() -> None:
    one = allow("x", Operation.DESCRIBE, kind=ResourceType.DELEGATION_TOKEN)
    assert changed([one]) == (set(), set())
    implied = [
        allow("t", each)
        for each in SUPPORTED_OPERATIONS[ResourceType.TOPIC]
        if each not in (Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS)
    ]
    assert changed(implied) == (set(implied), {allow("t", Operation.ALL)})
    everything = allow("*", Operation.ALL, kind=ResourceType.USER)
    two = [
        deny("x", each)._replace(resource_type=ResourceType.USER)
        for each in SUPPORTED_OPERATIONS[ResourceType.USER]
    ]
    assert changed([everything, *two]) == (set(two), {two[0]._replace(operation=Operation.ALL)})


def test_a_prefix_is_as_long_as_it_must_be() -> None:
    cluster = [
        allow(name, Operation.ALTER, kind=ResourceType.CLUSTER) for name in ("kafka-cluster", "kx")
    ]
    prefix = cluster[0]._replace(resource_name="k", pattern_type=PatternType.PREFIXED)
    assert changed(cluster) == (set(cluster), {prefix})
    assert changed(cluster, 1) == (set(cluster), {prefix})
    assert changed(cluster, 2) == ({cluster[1]}, set())
    other = cluster[1]._replace(resource_name="ax")
    assert changed([cluster[0], other]) == ({other}, set())


def test_a_smaller_set_has_the_cells_of_its_comparison() -> None:
    before = [allow("t", Operation.READ), allow("t", Operation.DESCRIBE)]
    found = minimal_set(before, CONFIG)
    assert found.cells == SetComparison(before, before[:1], CONFIG).cells > 0


def test_near_acls_are_those_with_a_name_in_common() -> None:
    random = Random(4)
    for _ in range(60):
        rules = [as_acl(each) for each in some(random, 8)]
        asked = some(random, 4)
        near = _NearAcls([*rules, *map(as_acl, asked)])
        for pattern in asked:
            found = set(near.to(as_acl(pattern)))
            common = {
                rule
                for rule in rules
                for each in [NamePattern(rule.resource_name, rule.pattern_type is LITERAL)]
                if any(matches(each, name) and matches(pattern, name) for name in NAMES)
            }
            assert common <= found, (pattern, rules)
            for rule in found if pattern != NamePattern("*", True) else ():
                name, other = rule.resource_name, pattern.name
                assert name == "*" or name.startswith(other) or other.startswith(name)
    assert list(near.to(allow("t", kind=ResourceType.GROUP))) == []

"""The smaller set decides every combination as the original set does."""

from __future__ import annotations

from itertools import product
from random import Random

from authorizer.analysis.cells.minimize import minimal_set
from authorizer.analysis.cells.names import PLAIN
from authorizer.analysis.cells.sessions import asked_operations
from authorizer.config import AuthorizerConfig
from metalog.acl import SUPPORTED_OPERATIONS, Acl, Operation, PatternType, ResourceType
from tests.support.worlds.random_worlds import CLIENTS, PRINCIPALS, Answers, acls, world
from tests.support.worlds.small_acls import allow, deny

CONFIG = AuthorizerConfig()


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
        asked = asked_operations(small.kind)
        sides = [Answers(each, small.config) for each in (before, after)]
        for principal, client in product(PRINCIPALS, CLIENTS):
            was, is_now = (
                [mask & asked for mask in each.on(small.kind, principal, client, small.names)]
                for each in sides
            )
            assert was == is_now, (number, before, found)
    assert spared > 60


def changed(before: list[Acl], **limits: int) -> tuple[set[Acl], set[Acl]]:
    found = minimal_set(before, CONFIG, **limits)
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

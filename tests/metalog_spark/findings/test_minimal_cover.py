"""The least set of one principal: cases computed by hand, and laws on random ones."""

import re
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from authorizer.analysis.cells.gains import prove_gains
from authorizer.config import AuthorizerConfig
from authorizer.engine.decide import concerns
from authorizer.engine.index import AclIndex
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import is_allow, reaches
from metalog.acl import SUPPORTED_OPERATIONS, WILDCARD, Acl, Operation, PatternType, ResourceType
from metalog_spark.findings.usage.acl_lifetimes import matching
from metalog_spark.findings.usage.minimal_cover import USUAL, CoverLimits
from metalog_spark.findings.usage.name_intervals import allowed_pairs, edges_of, places, ranked
from tests.support.worlds import spec
from tests.support.worlds.least_cover import Did, Names, least
from tests.support.worlds.small_acls import BOB, allow, deny
from tests.support.worlds.small_histories import small_acls

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
READ, WRITE, DESCRIBE = Operation.READ, Operation.WRITE, Operation.DESCRIBE
EVERY_TOPIC = allow("*")
SHOP = ["shop.carts", "shop.orders", "shop.refunds", "shopfront"]


def did(
    *names: str, operation: Operation = READ, by: Acl = EVERY_TOPIC, host: str = WILDCARD
) -> list[Did]:
    return [Did(operation, by.resource_type, name, host, frozenset({by})) for name in names]


def least_of(
    done: list[Did], today: list[Acl], limits: CoverLimits = USUAL, **more: object
) -> set[Acl]:
    names = more.get("names", SHOP)
    assert isinstance(names, list)
    return set(least(BOB, done, today, [], {TOPIC: sorted(names)}, limits))


def test_a_wildcard_shrinks_to_the_names_that_were_read() -> None:
    assert least_of(did("shop.carts", "shopfront"), [EVERY_TOPIC]) == {
        allow("shop.carts"),
        allow("shopfront"),
    }


def test_three_names_that_share_a_prefix_at_a_separator_are_one_acl() -> None:
    found = least_of(did("shop.carts", "shop.orders", "shop.refunds", "shopfront"), [EVERY_TOPIC])
    assert found == {allow("shop.", prefixed=True), allow("shopfront")}


def test_so_many_names_make_a_prefix_and_none_where_it_is_not_wanted() -> None:
    done = did("shop.carts", "shop.orders", "shop.refunds")
    assert len(least_of(done, [EVERY_TOPIC], CoverLimits(prefix_from=4))) == 3
    assert len(least_of(done, [EVERY_TOPIC], CoverLimits(prefix_from=0))) == 3


def test_a_prefix_reaches_no_other_known_name_beyond_the_slack() -> None:
    names = [*SHOP, "shop.salaries"]
    done = did("shop.carts", "shop.orders", "shop.refunds")
    assert len(least_of(done, [EVERY_TOPIC], names=names)) == 3
    quarter = CoverLimits(slack=0.25)
    assert least_of(done, [EVERY_TOPIC], quarter, names=names) == {allow("shop.", prefixed=True)}


def test_the_shortest_prefix_that_will_do_is_taken() -> None:
    names = [f"eu.{shop}.{topic}" for shop in ("a", "b") for topic in ("x", "y", "z")]
    assert least_of(did(*names), [EVERY_TOPIC], names=names) == {allow("eu.", prefixed=True)}
    with_another = [*names, "eu.c.secret"]
    assert least_of(did(*names), [EVERY_TOPIC], names=with_another) == {
        allow("eu.a.", prefixed=True),
        allow("eu.b.", prefixed=True),
    }


def test_nobody_gets_a_prefix_who_has_only_names_today() -> None:
    today = [allow("shop.carts"), allow("shop.orders"), allow("shop.refunds")]
    done = [each for acl in today for each in did(acl.resource_name, by=acl)]
    assert least_of(done, today) == set(today)


def test_what_read_implies_needs_no_acl_of_its_own() -> None:
    done = did("shopfront") + did("shopfront", "shop.carts", operation=DESCRIBE)
    assert least_of(done, [EVERY_TOPIC]) == {allow("shopfront"), allow("shop.carts", DESCRIBE)}


def test_describe_configs_is_implied_by_altering_them() -> None:
    everything = allow("*", Operation.ALL)
    done = did("shopfront", operation=Operation.ALTER_CONFIGS, by=everything)
    done += did("shopfront", operation=Operation.DESCRIBE_CONFIGS, by=everything)
    assert least_of(done, [everything]) == {allow("shopfront", Operation.ALTER_CONFIGS)}


def test_a_host_that_a_grant_names_stays_named() -> None:
    here = allow("shopfront", host="10.0.0.1")
    assert least_of(did("shopfront", by=here, host="10.0.0.1"), [here]) == {here}


def test_what_is_kept_anyhow_is_not_said_twice() -> None:
    kept = [allow("shop.", prefixed=True)]
    found = least(BOB, did("shop.carts"), [EVERY_TOPIC, *kept], kept, {TOPIC: SHOP}, USUAL)
    assert found == kept


def test_where_kafka_takes_no_acl_the_one_there_is_stays() -> None:
    groups = allow("*", kind=GROUP)
    assert least(BOB, did("", by=groups), [groups], [], {}, USUAL) == [groups]


def test_for_a_name_that_would_be_a_wildcard_the_one_there_is_stays() -> None:
    starred = allow("*", prefixed=True)
    assert least_of(did("*", by=starred), [starred]) == {starred}


def test_what_stays_for_such_a_name_needs_no_second_acl_for_the_others() -> None:
    groups = allow("*", Operation.ALL, kind=GROUP)
    done = did("g1", by=groups) + did("", "g2", by=groups) + did("g1", operation=WRITE, by=groups)
    assert least(BOB, done, [groups], [], {GROUP: ["g1", "g2"]}, USUAL) == [groups]
    starred = allow("*", prefixed=True)
    found = least_of(did("*", "*a", by=starred) + did("shopfront"), [starred, EVERY_TOPIC])
    assert found == {starred, allow("shopfront")}


def test_grants_of_everyone_become_ones_own() -> None:
    everyones = allow("*", principal="User:*")
    assert least_of(did("shopfront", by=everyones), [everyones]) == {allow("shopfront")}


def pairs(acls: list[Acl], names: Names) -> int:
    edges = edges_of(acls)
    ranks = {
        kind: ranked(texts, places(names.get(kind, ()), texts)) for kind, texts in edges.items()
    }
    return allowed_pairs(acls, ranks)


def test_pairs_of_names_and_operations_are_counted_once_and_denies_taken_off() -> None:
    names = {TOPIC: ["*", "*x", "a.1", "a.2", "b"]}
    assert pairs([allow("*")], names) == 2 * 4  # READ and DESCRIBE, and *x is not reached
    both = [allow("a.", prefixed=True), allow("a.1")]
    assert pairs(both, names) == 2 * 2
    assert pairs([*both, deny("a.1")], names) == 3  # DESCRIBE is still implied there
    assert pairs([allow("a.1", WRITE), allow("gone")], names) == 2


EDGE_NAMES = ["", "*", "*a", "+", "a", "a.", "a.b", "a.b\0", "a/", "a\U0010ffff", "b", "\U0010ffff"]


@given(
    st.lists(st.tuples(st.sampled_from(EDGE_NAMES), st.booleans(), st.booleans()), max_size=6),
    st.sets(st.sampled_from(EDGE_NAMES)),
)
def test_pairs_are_those_of_a_scan(patterns: list[tuple[str, bool, bool]], names: set[str]) -> None:
    acls = [
        (deny if is_deny else allow)(name)._replace(
            pattern_type=PatternType.PREFIXED if is_prefixed else PatternType.LITERAL
        )
        for name, is_prefixed, is_deny in patterns
    ]
    expected = sum(
        any(acl_allows(acl, operation, name) for acl in acls if is_allow(acl))
        and not any(acl_allows(acl, operation, name) for acl in acls if not is_allow(acl))
        for name in names
        for operation in SUPPORTED_OPERATIONS[TOPIC]
    )
    assert pairs(acls, {TOPIC: sorted(names)}) == expected


def acl_allows(acl: Acl, operation: Operation, name: str) -> bool:
    return concerns(acl, operation) and reaches(acl, TOPIC, name)


small_dids = st.lists(
    st.tuples(
        st.sampled_from([READ, WRITE, DESCRIBE]),
        st.sampled_from(["a.b", "a.c", "a.d", "a.e.f", "a-", "b", "*a", "*"]),
        st.sampled_from(["10.0.0.1", "10.0.0.2"]),
    ),
    max_size=12,
)
wide_acls = small_acls.map(
    lambda acl: acl._replace(
        resource_type=TOPIC,
        resource_name={"ab": "a.", "abb": "a.e."}.get(acl.resource_name) or acl.resource_name,
    )
)


@given(st.lists(wide_acls, max_size=6), small_dids, st.integers(0, 3), st.sampled_from([0.0, 0.5]))
def test_what_was_allowed_stays_so_and_nothing_more_is(
    today: list[Acl], asked: list[tuple[Operation, str, str]], prefix_from: int, slack: float
) -> None:
    principal = "User:a"
    index = AclIndex.of(today)
    done = []
    for operation, name, host in asked:
        question = (principal, host, operation.name, "TOPIC", name)
        allows = [acl for acl in matching(index, question, KafkaVersion.V4_3) if is_allow(acl)]
        wide = [acl for acl in allows if acl.host == WILDCARD]
        if allows:
            whence = WILDCARD if wide else host
            done.append(Did(operation, TOPIC, name, whence, frozenset(wide or allows)))
    known = sorted({name for _, name, _ in asked})
    meant = [acl for acl in today if acl.principal in (principal, "User:*") and is_allow(acl)]
    found = least(principal, done, meant, [], {TOPIC: known}, CoverLimits(prefix_from, slack))
    denies = [acl for acl in today if not is_allow(acl)]
    assert prove_gains(today, [*denies, *found], AuthorizerConfig()).witnesses == ()
    for operation, name, host in asked:
        who = (frozenset({principal}), host)
        was = spec.decide(today, who, operation, TOPIC, name, False).result
        now = spec.decide([*denies, *found], who, operation, TOPIC, name, False).result
        assert was is now
    assert all(
        acl.pattern_type is PatternType.PREFIXED or acl.resource_name != "*" or acl in today
        for acl in found
    )


@given(
    st.dictionaries(
        st.sampled_from([READ, WRITE]),
        st.sets(st.sampled_from(["a.b", "a.c-x", "a.c-y", "a.c-z", "a.d.e", "a.d.f", "b_c", "b"])),
    ),
    st.sets(st.sampled_from(["a.new", "a.c-new", "a.d.new", "b_new"])),
    st.sampled_from([allow("*", Operation.ALL), allow("a.", Operation.ALL, prefixed=True)]),
    st.builds(CoverLimits, st.integers(0, 3), st.sampled_from([0.0, 0.25, 0.5])),
)
def test_no_fewer_acls_would_do(
    names: dict[Operation, set[str]], others: set[str], wide: Acl, limits: CoverLimits
) -> None:
    """Compared with each choice of allowed prefixes; names under none of them need an ACL each."""
    literal = [allow(name, operation) for operation in names for name in names[operation]]
    known = sorted(others.union(*names.values()))
    done = [each for acl in literal for each in did_once(acl)]
    found = least(BOB, done, [wide, *literal], [], {TOPIC: known}, limits)
    fewest = 0
    for used in names.values():
        prefixes = {name[: end.end()] for name in used for end in re.finditer(r"[._-]", name)}
        may = [each for each in prefixes if is_worth(each, used, known, wide, limits)]
        choices = (set(some) for size in range(len(may) + 1) for some in combinations(may, size))
        fewest += min(
            len(some) + sum(not name.startswith(tuple(some)) for name in used) for some in choices
        )
    assert len(found) == fewest


def did_once(acl: Acl) -> list[Did]:
    return did(acl.resource_name, operation=acl.operation, by=acl)


def is_worth(prefix: str, used: set[str], known: list[str], wide: Acl, limits: CoverLimits) -> bool:
    own = sum(name.startswith(prefix) for name in used)
    there = sum(name.startswith(prefix) for name in known)
    is_granted = wide.resource_name == WILDCARD or prefix.startswith(wide.resource_name)
    enough = 0 < limits.prefix_from <= own
    return enough and is_granted and there - own <= limits.slack * there

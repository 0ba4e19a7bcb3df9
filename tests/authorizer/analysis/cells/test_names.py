"""Classes of names against a linear scan: every name up to three characters, and one beyond."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from authorizer.analysis.cells.names import (
    ALL_NAMES,
    PLAIN,
    THE_CLUSTER,
    NameClass,
    NamePattern,
    Patterns,
    all_names,
    can_be_named,
    classes,
    plain_name,
    touched,
)
from metalog.acl import ResourceType
from tests.support.worlds.scanned_names import BEYOND, NAMES, as_acl, matches, some
from tests.support.worlds.small_acls import allow


def one_of(names: NameClass) -> str:
    """A name of a class that patterns without ``BEYOND`` do not divide."""
    return names.name if names.is_literal else names.name + BEYOND


def class_of(name: str, found: set[NameClass]) -> NameClass:
    if NameClass(name, True) in found:
        return NameClass(name, True)
    prefixes = [each for each in found if not each.is_literal and name.startswith(each.name)]
    return max(prefixes, key=lambda each: len(each.name))


def test_the_patterns_that_match_a_class_are_those_of_a_linear_scan() -> None:
    random = Random(1)
    for _ in range(100):
        listed = some(random)
        patterns = Patterns(listed)
        for name, is_literal in product(("", *NAMES[:12]), (True, False)):
            names = NameClass(name, is_literal)
            if not one_of(names):
                continue
            found = {each for each in listed if matches(each, one_of(names))}
            assert set(patterns.reaching(names)) == found, (listed, names)
            assert patterns.reaches(names) is bool(found), (listed, names)


def test_the_classes_that_begin_with_a_stem_are_those_of_a_linear_scan() -> None:
    random = Random(2)
    for _ in range(60):
        listed = some(random, 9)
        patterns = Patterns(listed)
        for stem in ("", "a", "b", "*", "ab", "a"):
            found = {NameClass(*each) for each in listed if each.name.startswith(stem)}
            assert patterns.beginning_with(stem) == found, (listed, stem)


def test_all_names_of_a_class_are_matched_by_the_same_patterns() -> None:
    random = Random(3)
    for _ in range(60):
        listed, [within] = some(random), random.choices((ALL_NAMES, *some(random, 1)))
        by_class: dict[NameClass, set[tuple[NamePattern, ...]]] = {}
        found = classes([Patterns(listed[:2]), Patterns(listed[2:])], within)
        for name in filter(within.holds, NAMES):
            matching = tuple(each for each in listed if matches(each, name))
            by_class.setdefault(class_of(name, found), set()).add(matching)
        assert all(len(each) == 1 for each in by_class.values()), (listed, within)
        assert all(within.holds_all(each) for each in found)


def test_the_touched_classes_are_those_that_a_pattern_matches() -> None:
    random = Random(4)
    seen = set()
    for _ in range(200):
        touching = [Patterns(some(random, 2)) for _ in range(random.randint(0, 3))]
        dividing = [*touching, Patterns(some(random))]
        [within] = random.choices((ALL_NAMES, *some(random, 1)))
        found = set(touched(touching, dividing, within))
        every = classes(dividing, within)
        if not any(patterns.reaches_all for patterns in dividing):  # * is like what begins with it
            every, found = every - {NameClass("*", True)}, found - {NameClass("*", True)}
        assert found == {
            names for names in every if any(patterns.reaches(names) for patterns in touching)
        }
        seen.add((bool(found), found == every, within.is_literal))
    assert len(seen) >= 5


def test_a_pattern_meets_the_acls_that_match_one_of_its_names() -> None:
    everything = [NamePattern(name, literal) for name in NAMES[:12] for literal in (True, False)]
    for wanted, other in product(everything, everything):
        is_met = any(matches(other, name) for name in filter(wanted.holds, NAMES))
        if other == NamePattern("*", True):
            assert wanted.meets(as_acl(other))  # a wildcard may match
        else:
            assert wanted.meets(as_acl(other)) is is_met, (wanted, other)


def test_a_pattern_has_a_class_if_it_has_one_of_its_names() -> None:
    for wanted, name, is_literal in product(some(Random(5), 30), NAMES[:12], (True, False)):
        names = NameClass(name, is_literal)
        if wanted.name in (name, "") or not name.startswith(wanted.name) or wanted.is_literal:
            assert wanted.holds_all(names) is wanted.holds(one_of(names)), (wanted, names)


@pytest.mark.parametrize(
    ("kind", "name", "can_be"),
    [
        (ResourceType.TOPIC, "a.b", True),
        (ResourceType.TOPIC, "..", False),
        (ResourceType.TOPIC, "a b", False),
        (ResourceType.TOPIC, "", False),
        (ResourceType.CLUSTER, "kafka-cluster", True),
        (ResourceType.CLUSTER, "a", False),
        (ResourceType.GROUP, "a b", True),
        (ResourceType.GROUP, "", False),
    ],
)
def test_a_resource_has_the_names_that_kafka_gives_it(
    kind: ResourceType, name: str, can_be: bool
) -> None:
    assert can_be_named(kind, name) is can_be


def test_a_cluster_has_one_name() -> None:
    assert all_names(ResourceType.CLUSTER) == THE_CLUSTER
    assert all_names(ResourceType.TOPIC) == ALL_NAMES


@pytest.mark.parametrize(
    ("names", "literals", "prefixes", "kind", "plain"),
    [
        ("a-b", [], [], ResourceType.TOPIC, "a-b"),
        ("a-", [], [], ResourceType.TOPIC, "a-x"),
        ("", [], set(PLAIN) - {"."}, ResourceType.TOPIC, ".x"),
        (
            "",
            [],
            {*PLAIN, *(f".{each}" for each in PLAIN)} - {".", ".."},
            ResourceType.TOPIC,
            "..x",
        ),
        ("", [], PLAIN, ResourceType.TOPIC, None),
        ("g", ["g", "g\xc0"], {f"g{each}" for each in PLAIN}, ResourceType.GROUP, "g\xc1"),
        ("g", ["g"], {f"g{each}" for each in (*PLAIN, "\xc0")}, ResourceType.GROUP, "g\xc1"),
    ],
)
def test_a_class_is_shown_by_its_plainest_name(
    names: str, literals: list[str], prefixes: set[str], kind: ResourceType, plain: str | None
) -> None:
    rules = [*map(allow, literals), *(allow(name, prefixed=True) for name in prefixes)]
    assert plain_name(NameClass(names, False), kind, [Patterns.of(rules)]) == plain

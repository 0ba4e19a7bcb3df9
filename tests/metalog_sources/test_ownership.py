"""Ownership among files: additions outside it, and patterns that two files own."""

from __future__ import annotations

from itertools import combinations, product, starmap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog_sources.formats.document import Document, FilePosition, Own, OwnsEntry, joined
from metalog_sources.formats.yaml import read_yaml
from metalog_sources.targets.ownership import acls_outside, owned_twice

TYPES = [ResourceType.TOPIC, ResourceType.GROUP]
PATTERN_TYPES = [PatternType.LITERAL, PatternType.PREFIXED]
NAMES = ["a", "ab", "abc", "b", "*", "*a"]
PRINCIPALS = ["User:a", "User:b"]
OWNS = [
    *starmap(Own, product([*TYPES, ResourceType.ANY], NAMES, PATTERN_TYPES, [None, *PRINCIPALS])),
    *starmap(Own, product(TYPES, [None], [PatternType.LITERAL], [None, *PRINCIPALS])),
    Own(),
]
ACLS = [
    Acl(kind, name, pattern, principal, "*", Operation.READ, PermissionType.ALLOW)
    for kind, name, pattern, principal in product(
        TYPES, [*NAMES, "abcd", "*ab"], PATTERN_TYPES, PRINCIPALS
    )
]


def test_two_overlap_where_there_is_an_acl_that_both_cover() -> None:
    covered = {own: frozenset(filter(own.covers, ACLS)) for own in OWNS}
    for one, other in product(OWNS, OWNS):
        assert one.overlaps(other) == bool(covered[one] & covered[other]), (one, other)


def files(**texts: str) -> Document:
    return joined(read_yaml(text, f"{name}.yaml") for name, text in texts.items())


TEAM = """\
owns: [{{resourceType: Topic, resourceName: {own}, patternType: prefixed}}]
acls:
  - {{principal: User:x, operation: Read, resourceType: Topic, resourceName: {name}}}
"""


@pytest.mark.parametrize(
    ("name", "owner"), [("pay-eu", None), ("shop-eu", "b.yaml, line 1, column 8"), ("z", "")]
)
def test_what_a_file_adds_outside(name: str, owner: str | None) -> None:
    found = acls_outside(
        files(a=TEAM.format(own="pay-", name=name), b=TEAM.format(own="shop-", name="shop-x"))
    )
    if owner is None:
        assert found == []
        return
    (outside,) = found
    assert str(outside.entry.position) == "a.yaml, line 3, column 5"
    assert (str(outside.owner.position) if outside.owner else "") == owner


def test_a_file_that_says_nothing_of_owning_is_held_to_nothing() -> None:
    plain = TEAM.format(own="pay-", name="shop-x").partition("\n")[2]
    assert acls_outside(files(a=plain, b=TEAM.format(own="shop-", name="shop-x"))) == []


@pytest.mark.parametrize(
    ("one", "other", "overlaps"),
    [("pay-", "pay-", 1), ("pay-", "pay-eu-", 1), ("pay-", "shop-", 0)],
)
def test_what_two_files_own(one: str, other: str, overlaps: int) -> None:
    document = files(a=TEAM.format(own=one, name="x"), b=TEAM.format(own=other, name="y"))
    assert len(owned_twice(document)) == overlaps
    assert (
        owned_twice(
            files(a=TEAM.format(own=one, name="x") + "---\n" + TEAM.format(own=one, name="x"))
        )
        == []
    )


@given(st.lists(st.tuples(st.sampled_from(OWNS), st.sampled_from("abc")), max_size=8))
def test_the_claims_of_two_files_as_if_all_were_compared_with_all(
    claimed: list[tuple[Own, str]],
) -> None:
    owned = tuple(
        OwnsEntry(own, FilePosition(file, 1 + n)) for n, (own, file) in enumerate(claimed)
    )
    expected: dict[OwnsEntry, OwnsEntry] = {}
    for one, other in combinations(owned, 2):
        if one.position.file != other.position.file and one.own.overlaps(other.own):
            expected.setdefault(other, one)
    found = owned_twice(Document(owns_entries=owned))
    assert {each.second: each.first for each in found} == expected

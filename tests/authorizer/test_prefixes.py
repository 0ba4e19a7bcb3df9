"""Finding all stored prefixes of a name, compared with a linear scan."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from authorizer.engine.prefixes import CHUNK, Prefix, SortedNames, combined, up_from

BROKEN = r"^an invariant of the sorted names is broken$"

names = st.text("ab\uffff\U0001f600", max_size=6)


@pytest.mark.once
@settings(max_examples=1_000, deadline=None)
@given(st.sets(names, max_size=30), st.lists(names, max_size=5))
def test_all_stored_prefixes_are_found_the_longest_first(
    stored: set[str], asked: list[str]
) -> None:
    found = SortedNames.of(sorted(stored))
    for name in asked:
        prefixes = [each.name for each in up_from(found.longest_prefix(name))]
        expected = [other for other in stored if name.startswith(other)]
        assert prefixes == sorted(expected, key=len, reverse=True)
        assert found.any_begins_with(name) == any(other.startswith(name) for other in stored)
    found._check()


def test_prefixes_may_be_nested_deeper_than_a_stack() -> None:
    stored = ["m" * depth for depth in range(1, 5_001)]
    found = SortedNames.of(stored)
    assert [each.name for each in up_from(found.longest_prefix("m" * 6_000))] == stored[::-1]


@given(st.sets(names, max_size=30), st.lists(names, max_size=10))
def test_what_prefixes_come_to_is_worked_out_once_for_each(
    stored: set[str], asked: list[str]
) -> None:
    found = SortedNames.of(sorted(stored))
    known: dict[Prefix | None, tuple[str, ...]] = {None: ()}
    steps: list[str] = []

    def longer(shorter: tuple[str, ...], prefix: Prefix) -> tuple[str, ...]:
        steps.append(prefix.name)
        return (*shorter, prefix.name)

    for name in asked:
        expected = tuple(sorted((each for each in stored if name.startswith(each)), key=len))
        assert combined(found.longest_prefix(name), known, longer) == expected
    assert len(steps) == len(set(steps)) == len(known) - 1


@pytest.mark.parametrize(
    ("firsts", "chunks"),
    [
        (["", "b"], [["a"]]),
        (["a"], [["a"]]),
        (["", "b"], [["a"], []]),
        ([""], [[f"{number:03}" for number in range(2 * CHUNK + 1)]]),
        ([""], [["b", "a"]]),
        ([""], [["a", "a"]]),
        (["", "c"], [["a"], ["b"]]),
        (["", "b"], [["a", "b"], ["c"]]),
    ],
)
def test_names_out_of_place_are_found_out(firsts: list[str], chunks: list[list[str]]) -> None:
    counts = Counter(len(name) for chunk in chunks for name in chunk)
    with pytest.raises(AssertionError, match=BROKEN):
        SortedNames(firsts, chunks, counts)._check()


def test_a_wrong_count_of_names_is_found_out() -> None:
    with pytest.raises(AssertionError, match=BROKEN):
        SortedNames([""], [["a"]], {2: 1})._check()


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("x", Prefix("x", None)),
        ("ab", Prefix("abc", Prefix("a", None))),
        ("abc", Prefix("abc", Prefix("a", None))),
        ("a", Prefix("a", Prefix("a", None))),
    ],
)
def test_a_wrong_cached_prefix_is_found_out_among_right_ones(name: str, prefix: Prefix) -> None:
    sound = SortedNames.of(["a", "ab", "abc", "b"])
    sound.longest_prefix("b")
    sound._prefixes[name] = prefix
    sound.longest_prefix("abcd")
    with pytest.raises(AssertionError, match=BROKEN):
        sound._check()

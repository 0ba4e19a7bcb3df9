"""Finding all stored prefixes of a name, compared with a linear scan."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from authorizer.engine import prefixes
from authorizer.engine.prefixes import (
    CHUNK,
    LONGEST_BEGINNING,
    Prefix,
    SortedNames,
    combined,
    common_prefix_length,
    with_shorter,
)

BROKEN = r"^an invariant of the sorted names is broken$"

SHORT_NAMES = ["".join(each) for size in range(4) for each in product("abc", repeat=size)]
names = st.text("ab\uffff\U0001f600", max_size=6)


@pytest.mark.once
@settings(max_examples=1_000, deadline=None)
@given(st.sets(names, max_size=30), st.lists(names, max_size=5))
def test_all_stored_prefixes_are_found_the_longest_first(
    stored: set[str], asked: list[str]
) -> None:
    for is_linked in (False, True):
        found = SortedNames.of(sorted(stored))
        if is_linked:  # so that names of few lengths are looked up by each length
            found.link()
        for name in asked:
            prefixes = [each.name for each in with_shorter(found.longest_prefix(name))]
            expected = [other for other in stored if name.startswith(other)]
            assert prefixes == sorted(expected, key=len, reverse=True)
            assert found.any_begins_with(name) == any(other.startswith(name) for other in stored)
        found._check()


@pytest.mark.parametrize("chunk", [1, 2, 3])
@pytest.mark.parametrize("is_linked", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_names_in_several_parts_are_found_after_each_change(
    chunk: int, is_linked: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefixes, "CHUNK", chunk)
    monkeypatch.setattr(prefixes, "MOST_CACHED", seed * 8)
    choose = random.Random(seed)
    stored = set(choose.sample(SHORT_NAMES, 20))
    found = SortedNames.of(sorted(stored))
    if is_linked:
        found.link()
        found._check()
    for _ in range(40):
        name = choose.choice(SHORT_NAMES)
        before, parts = found, [part.copy() for part in found.chunks]
        found = found.updated({name: name not in stored})
        assert before.chunks == parts
        stored ^= {name}
        assert list(found) == sorted(stored)
        others = [part for part in before.chunks if part is not before.chunk_of(name)]
        assert all(any(part is each for each in found.chunks) for part in others)
        for asked in choose.sample(SHORT_NAMES, 10):
            expected = sorted(filter(asked.startswith, stored), key=len, reverse=True)
            assert [each.name for each in with_shorter(found.longest_prefix(asked))] == expected
            assert found.longest_prefix(asked) is found.longest_prefix(asked)
            assert found.any_begins_with(asked) == any(each.startswith(asked) for each in stored)
        found._check()
    for name in sorted(stored, key=lambda _: choose.random()):
        found = found.updated({name: False})
        found._check()
    assert found.chunks == [[]]
    assert not any(found.any_begins_with(asked) for asked in SHORT_NAMES)


@pytest.mark.parametrize("chunk", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_several_changes_at_once_are_those_one_by_one(
    chunk: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefixes, "CHUNK", chunk)
    choose = random.Random(seed)
    stored = set(choose.sample(SHORT_NAMES, 20))
    found = SortedNames.of(sorted(stored))
    found.link()
    for changes in (1, 5, 30, 5, 30):
        names = choose.sample(SHORT_NAMES, changes)
        found = found.updated({name: name not in stored for name in names})
        stored ^= set(names)
        assert list(found) == sorted(stored)
        found._check()
    found = found.updated(dict.fromkeys(stored, False)).updated({"b": True, "a": True})
    assert found.chunks in ([["a", "b"]], [["a"], ["b"]])
    found._check()


@pytest.mark.parametrize("most", [16, 64])
def test_results_by_beginning_are_as_many_as_allowed_or_none(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are given up where names have few beginnings in common."""
    monkeypatch.setattr(prefixes, "MOST_CACHED", most)
    found = SortedNames.of(["a", "ab", "b"])
    for number in range(10 * most):
        for name in ("abc", f"{number:04}"):
            longest = found.longest_prefix(name)
            assert longest is None if name != "abc" else longest and longest.name == "ab"
        assert len(found._by_beginning or ()) <= most
        found._check()
    assert found._by_beginning is not None
    for number in range(10 * most):
        assert found.longest_prefix(f"{chr(300 + number)}") is None
        assert len(found._by_beginning or ()) <= most
    assert found._by_beginning is None
    assert found.updated({"abcd": True})._by_beginning is None


def test_a_very_long_name_has_no_results_by_beginning() -> None:
    assert SortedNames.of(["n" * LONGEST_BEGINNING])._by_beginning == {}
    assert SortedNames.of(["n" * (LONGEST_BEGINNING + 1)])._by_beginning is None


def test_a_part_is_divided_when_it_has_more_than_twice_its_first_size() -> None:
    found = SortedNames.of([f"{number:04}" for number in range(0, 2 * CHUNK, 2)])
    for number in range(1, 2 * CHUNK, 2):
        assert len(found.chunks) == 1
        found = found.updated({f"{number:04}": True})
    assert list(map(len, found.chunks)) == [2 * CHUNK]
    found = found.updated({"more": True})
    assert list(map(len, found.chunks)) == [CHUNK, CHUNK + 1]


@given(names, names)
def test_what_two_names_have_in_common_is_their_longest_equal_beginning(
    one: str, other: str
) -> None:
    lengths = range(min(len(one), len(other)) + 1)
    assert common_prefix_length(one, other) == max(n for n in lengths if one[:n] == other[:n])


def test_prefixes_may_be_nested_deeper_than_a_stack() -> None:
    stored = ["m" * depth for depth in range(1, 5_001)]
    found = SortedNames.of(stored)
    assert [each.name for each in with_shorter(found.longest_prefix("m" * 6_000))] == stored[::-1]


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
        (["", "b", "a"], [["0"], ["b"], ["c"]]),
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
    ("place", "prefix"),
    [
        (0, Prefix("x", None)),
        (1, Prefix("abc", Prefix("a", None))),
        (2, Prefix("abc", Prefix("a", None))),
        (0, Prefix("a", Prefix("a", None))),
    ],
)
def test_a_wrong_link_is_found_out_among_right_ones(place: int, prefix: Prefix) -> None:
    sound = SortedNames.of(["a", "ab", "abc", "b"])
    sound.link()
    sound._check()
    assert sound._links is not None
    links = sound._links[0]
    assert links is not None
    links[place] = prefix
    with pytest.raises(AssertionError, match=BROKEN):
        sound._check()


@pytest.mark.parametrize("cached", [{"abx": None}, {"abx": Prefix("a", None)}])
def test_a_wrong_result_by_beginning_is_found_out(cached: dict[str, Prefix | None]) -> None:
    broken = SortedNames.of(["a", "ab", "abc", "b"])
    broken._by_beginning = cached
    with pytest.raises(AssertionError, match=BROKEN):
        broken._check()


def test_missing_links_of_a_part_are_found_out() -> None:
    broken = SortedNames.of(["a", "b"])
    broken._links = []
    with pytest.raises(AssertionError, match=BROKEN):
        broken._check()

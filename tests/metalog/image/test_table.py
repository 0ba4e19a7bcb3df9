"""A Table is an immutable dict; a change costs only what it touches."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalog.image.table import EMPTY, FAN, SMALL, Table

KEYS = st.text(max_size=3) | st.integers(0, 9).map("key-{}".format)
CHANGES = st.dictionaries(KEYS, st.one_of(st.none(), st.integers()))


def changed(before: Mapping[str, int], changes: Mapping[str, int | None]) -> dict[str, int]:
    after = {**before, **changes}
    return {key: value for key, value in after.items() if value is not None}


def large(size: int = 20_000) -> dict[str, int]:
    return {f"key-{number}": number for number in range(size)}


@settings(deadline=None)
@given(st.lists(CHANGES, max_size=6), st.booleans())
def test_it_holds_what_a_dict_would_after_any_changes(
    rounds: list[dict[str, int | None]], is_large: bool
) -> None:
    model = LARGE if is_large else {}
    table = LARGE_TABLE if is_large else EMPTY
    for changes in rounds:
        before, table = (table, dict(model)), table.changed(changes)
        model = changed(model, changes)
        assert dict(before[0].items()) == before[1], "the table before has changed"
    assert dict(table.items()) == model
    assert sorted(table) == sorted(table.keys()) == sorted(model)
    assert sorted(table.values()) == sorted(model.values())
    assert len(table) == len(model)
    assert table == model
    assert table == Table(model.items())
    for key in model:
        assert key in table
        assert table[key] == table.get(key) == model[key]
    assert table.get("absent-key") is None
    assert "absent-key" not in table


LARGE = large(SMALL * 3)
LARGE_TABLE = Table(LARGE.items())


@pytest.mark.parametrize("size", [0, 1, SMALL, SMALL + 1, 20_000])
def test_any_size_is_equal_to_its_dict_and_unequal_to_another(size: int) -> None:
    table = Table(large(size).items())
    assert table == large(size)
    assert len(table) == size
    other = table.changed({"key-0": -1})
    assert other != table
    assert other.changed({"key-0": 0 if size else None}) == table


def test_growing_and_shrinking_across_the_small_form_keeps_equality() -> None:
    grown = Table(large(SMALL + 5).items())
    shrunk = grown.changed({f"key-{number}": None for number in range(10, SMALL + 5)})
    assert shrunk == Table(large(10).items())
    assert Table(large(10).items()) == shrunk


@pytest.mark.parametrize("size", [10_000, 50_000])
def test_a_change_copies_the_leaves_that_it_touches_and_no_other(size: int) -> None:
    table = Table(large(size)).changed({f"key-{number}": -1 for number in range(500)})
    after = table.changed({"key-7": 0, "key-8": None})
    leaves, leaves_after = (list(chain.from_iterable(each._nodes)) for each in (table, after))
    shared = sum(mine is theirs for mine, theirs in zip(leaves, leaves_after, strict=True))
    assert FAN * FAN - 2 <= shared < FAN * FAN
    assert after._bulk is table._bulk


def test_what_is_gone_is_not_kept_for_ever() -> None:
    model = large()
    table = Table(model)
    for start in range(0, len(model) - 100, 100):
        gone = {f"key-{number}": None for number in range(start, start + 100)}
        table = table.changed(gone).changed({f"new-{start}": start})
        model = changed(model, {**gone, f"new-{start}": start})
        assert len(table._bulk) <= max(SMALL, len(table) * 16 / 15 + 1)
        assert len(table) == len(model)
    assert table == model


def test_it_owns_the_dict_that_it_is_given() -> None:
    bulk = large()
    table = Table.owning(bulk)
    assert table._bulk is bulk
    assert table.changed({"key-1": None}).changed({"key-1": 1}) == bulk
    assert bulk == large()


def test_a_removal_of_an_absent_key_changes_nothing() -> None:
    table = Table(large().items())
    assert table.changed({"absent": None}) == table


def test_it_cannot_be_changed_in_place() -> None:
    table = Table({"a": 1}.items())
    with pytest.raises(TypeError):
        table["a"] = 2  # type: ignore[index]
    with pytest.raises(TypeError):
        hash(table)


def test_it_shows_no_values() -> None:
    assert repr(Table({"user": "secret"}.items())) == "<Table of 1>"


def test_it_pickles() -> None:
    table = Table(large().items())
    assert pickle.loads(pickle.dumps(table)) == table


@settings(deadline=None, max_examples=20)
@given(CHANGES, CHANGES, st.booleans())
def test_what_changed_since_an_earlier_table_is_named(
    first: dict[str, int | None], second: dict[str, int | None], is_large: bool
) -> None:
    before = (LARGE_TABLE if is_large else EMPTY).changed(first)
    after = before.changed(second)
    for now, then in ((after, before), (before, after), (after, EMPTY), (EMPTY, after)):
        different = {key for key in now.keys() | then.keys() if now.get(key) is not then.get(key)}
        assert different <= set(now.changed_since(then))


def test_only_what_shares_a_leaf_with_a_change_may_have_changed() -> None:
    table = LARGE_TABLE.changed({f"key-{number}": -1 for number in range(100)})
    after = table.changed({"key-7": 0, "key-5000": None})
    assert {"key-7", "key-5000"} <= set(after.changed_since(table))
    assert len(set(after.changed_since(table))) < 10
    assert not set(table.changed_since(table))

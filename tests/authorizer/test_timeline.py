"""The ACLs of every moment: as a replay that stops there, and decides by the specification."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import HOSTS, NAMES, OPERATIONS, PRINCIPALS, TYPES
from small_world import acls as small_acls

from authorizer import spec
from authorizer.decide import session
from authorizer.timeline import AclChange, Edge, Life, Timeline, lives
from metalog.acl import Acl, Operation
from metalog.errors import InvalidMoment
from metalog.ids import Uuid

START = 5
ids = st.integers(0, 4).map(lambda number: Uuid(number.to_bytes(16, "big")))
bases = st.dictionaries(ids, small_acls, max_size=3)
QUESTIONS = list(
    product(
        [each for each in PRINCIPALS if each != "User:*"],
        ["10.0.0.1"],
        [each for each in OPERATIONS if each is not Operation.ALL],
        TYPES,
        NAMES[:3],
    )
)
assert "10.0.0.1" in HOSTS


@st.composite
def histories(draw: st.DrawFn) -> list[AclChange]:
    """Changes at rising offsets and times; some take effect together, by a transaction."""
    changes: list[AclChange] = []
    offset, time = START, 100
    for size in draw(st.lists(st.integers(1, 3), max_size=5)):
        time += draw(st.integers(0, 2))
        pairs = draw(st.lists(st.tuples(ids, st.none() | small_acls), min_size=size, max_size=size))
        end = None if size == 1 else offset + size
        changes += [AclChange(offset + i, *pair, time, end) for i, pair in enumerate(pairs)]
        offset += size + 2
    return changes


def replayed(base: Mapping[Uuid, Acl], changes: list[AclChange]) -> dict[Uuid, Acl]:
    state = dict(base)
    for change in changes:
        state.pop(change.id, None)
        if change.acl is not None:
            state[change.id] = change.acl
    return state


def at_offset(base: Mapping[Uuid, Acl], changes: list[AclChange], offset: int) -> dict[Uuid, Acl]:
    return replayed(base, [each for each in changes if each.at <= offset])


@settings(max_examples=30)
@given(bases, histories(), st.booleans())
def test_decisions_at_each_change_are_the_specifications(
    base: dict[Uuid, Acl], changes: list[AclChange], default: bool
) -> None:
    timeline = Timeline(START, base, changes, start_ms=100)
    moments = {START, *(each.at + step for each in changes for step in (-1, 0, 1))}
    for offset in moments:
        known = list(at_offset(base, changes, offset).values())
        index = timeline.at_offset(offset)
        assert set(index) == set(known)
        for who, host, operation, kind, name in QUESTIONS:
            decided = index.decide(
                session(host, who), operation, kind, name, allow_everyone=default
            )
            assert decided == spec.decide(known, ({who}, host), operation, kind, name, default)


@given(bases, histories())
def test_a_time_is_the_state_after_all_changes_up_to_it(
    base: dict[Uuid, Acl], changes: list[AclChange]
) -> None:
    timeline = Timeline(START, base, changes, start_ms=100)
    for time in range(100, 113):
        known = replayed(base, [each for each in changes if each.time_ms <= time])
        assert set(timeline.at_time(time)) == set(known.values())


@given(bases, histories())
def test_lives_are_what_holds_at_each_offset(
    base: dict[Uuid, Acl], changes: list[AclChange]
) -> None:
    found = list(lives(base, changes))
    for offset in range(START, START + 30):
        holding = [(life.id, life.acl) for life in found if life.holds_at(offset)]
        assert len(holding) == len({uuid for uuid, _ in holding})
        assert dict(holding) == at_offset(base, changes, offset)


def test_what_began_and_ended_in_one_transaction_never_was() -> None:
    [acl] = _acls()
    uuid = Uuid(bytes(16))
    changes = [AclChange(7, uuid, acl, 100, 9), AclChange(8, uuid, None, 100, 9)]
    assert list(lives({}, changes)) == []
    timeline = Timeline(0, {}, changes)
    assert [set(index) for _, _, index in timeline.spans()] == [set(), set()]


def test_a_life_has_its_edges() -> None:
    [acl] = _acls()
    uuid = Uuid(bytes(16))
    changes = [AclChange(7, uuid, acl, 100), AclChange(9, uuid, None, 200)]
    assert list(lives({}, changes)) == [Life(uuid, acl, Edge(8, 100), Edge(10, 200))]
    spans = [(begin, end) for begin, end, _ in Timeline(0, {}, changes).spans()]
    assert spans == [
        (Edge(0, 0), Edge(8, 100)),
        (Edge(8, 100), Edge(10, 200)),
        (Edge(10, 200), None),
    ]


def test_before_the_history_nothing_is_known() -> None:
    timeline = Timeline(START, {}, [], start_ms=100)
    with pytest.raises(InvalidMoment):
        timeline.at_offset(START - 1)
    with pytest.raises(InvalidMoment):
        timeline.at_time(99)


def _acls() -> list[Acl]:
    from shell.acl_line import parse_acl_line

    return parse_acl_line("ALLOW User:a Read topic:t")

"""The ACLs at every version equal those of a replay that stops there."""

from __future__ import annotations

from bisect import bisect_right

from hypothesis import given

from authorizer.history.timeline import AclLifetime, Edge, Timeline, TimelineChange, lifetimes
from metalog.acl import Acl
from metalog.ids import Uuid
from tests.support.worlds.small_histories import START, at_offset, bases, histories, replayed


def known_at(timeline: Timeline, version: int) -> dict[Uuid, Acl]:
    return {life.id: life.acl for life in timeline.alive(version)}


@given(bases, histories())
def test_a_version_is_the_state_after_all_changes_below_its_offset(
    base: dict[Uuid, Acl], changes: list[TimelineChange]
) -> None:
    timeline = Timeline(Edge(START, 100), lifetimes(base, changes))
    for offset in range(START, START + 30):
        version = bisect_right(timeline.offsets, offset) - 1
        assert known_at(timeline, version) == at_offset(base, changes, offset)


@given(bases, histories())
def test_a_time_is_the_state_after_all_changes_up_to_it(
    base: dict[Uuid, Acl], changes: list[TimelineChange]
) -> None:
    timeline = Timeline(Edge(START, 100), lifetimes(base, changes))
    for time in range(100, 113):
        known = replayed(base, [each for each in changes if each.time_ms <= time])
        assert known_at(timeline, bisect_right(timeline.times, time) - 1) == known


@given(bases, histories())
def test_lives_are_what_holds_at_each_offset(
    base: dict[Uuid, Acl], changes: list[TimelineChange]
) -> None:
    found = list(lifetimes(base, changes))
    for offset in range(START, START + 30):
        holding = [(life.id, life.acl) for life in found if life.holds_at(offset)]
        assert len(holding) == len({uuid for uuid, _ in holding})
        assert dict(holding) == at_offset(base, changes, offset)


def test_what_began_and_ended_in_one_transaction_never_was() -> None:
    [acl] = _acls()
    uuid = Uuid(bytes(16))
    changes = [TimelineChange(7, uuid, acl, 100, 9), TimelineChange(8, uuid, None, 100, 9)]
    assert list(lifetimes({}, changes)) == []
    assert len(Timeline(Edge(0, 0), [])) == 1


def test_a_life_has_its_edges() -> None:
    [acl] = _acls()
    uuid = Uuid(bytes(16))
    changes = [TimelineChange(7, uuid, acl, 100), TimelineChange(9, uuid, None, 200)]
    assert list(lifetimes({}, changes)) == [AclLifetime(uuid, acl, Edge(8, 100), Edge(10, 200))]
    timeline = Timeline(Edge(0, 0), lifetimes({}, changes))
    assert (timeline.offsets, timeline.times) == ((0, 8, 10), (0, 100, 200))
    assert [timeline.span(life) for life in timeline.lifetimes] == [(1, 2)]


def _acls() -> list[Acl]:
    from shell.arguments.acl_line import parse_acl_line

    return parse_acl_line("ALLOW User:a Read topic:t")

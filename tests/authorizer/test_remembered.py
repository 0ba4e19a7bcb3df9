"""The limits of the cache of sessions: who is admitted, when it is emptied, what a change is noted
for."""

from __future__ import annotations

import pytest

from authorizer.engine.cache import remembered
from authorizer.engine.cache.remembered import (
    ADMISSION_THRESHOLD,
    HIGHEST_THRESHOLD,
    RememberedSessions,
)
from tests.support.worlds.small_acls import allow

APP = ("10.0.0.1", "User:app")
PAY = allow("pay", principal="User:app")


def _requests_until_often(cache: RememberedSessions[object], identity: tuple[str, ...]) -> int:
    return next(number for number in range(1_000) if cache.is_frequent(identity))


@pytest.fixture
def _counters_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many counters that few sessions hardly ever share one."""
    monkeypatch.setattr(remembered, "FEWEST_COUNTERS", 1 << 24)


@pytest.mark.usefixtures("_counters_of_their_own")
def test_a_session_is_admitted_after_its_own_first_requests() -> None:
    cache = RememberedSessions[object]()
    for user in range(20):
        assert _requests_until_often(cache, ("10.0.0.1", f"User:{user}")) == ADMISSION_THRESHOLD
    assert cache.is_frequent(("10.0.0.1", "User:0"))


@pytest.mark.parametrize("most", [1, 4])
def test_counts_are_halved_after_as_many_requests_as_there_are_counters(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that grows keeps the count of each session."""
    monkeypatch.setattr(remembered, "FEWEST_COUNTERS", 1)
    monkeypatch.setattr(remembered, "MOST_COUNTERS", most)
    monkeypatch.setattr(remembered, "ADMISSION_THRESHOLD", 2)
    cache = RememberedSessions[object]()
    assert [cache.is_frequent(APP) for _ in range(5)] == [False, False, False, True, True]


def test_the_counters_of_any_number_of_sessions_have_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remembered, "FEWEST_COUNTERS", 4)
    monkeypatch.setattr(remembered, "MOST_COUNTERS", 64)
    cache = RememberedSessions[object]()
    sizes = set()
    for user in range(1_000):
        cache.is_frequent(("10.0.0.1", f"User:{user}"))
        sizes.add(len(cache._counters or b""))
    assert sizes == {4, 16, 64}


@pytest.mark.usefixtures("_counters_of_their_own")
@pytest.mark.parametrize(("answers", "size"), [(1, 0), (0, 1)])
def test_what_exceeds_a_limit_empties_the_cache_and_admits_fewer_sessions(
    answers: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "MOST_ENTRIES", 10)
    monkeypatch.setattr(remembered, "MOST_BYTES", 10)
    cache = RememberedSessions[object]()
    thresholds = []
    for time in range(6):
        cache.bounded = ({1: 1}, {2: 2})
        cache.count(10 * answers, 10 * size)
        assert all(cache.bounded)
        cache.count(answers, size)
        assert not any(cache.bounded)
        thresholds.append(_requests_until_often(cache, ("10.0.0.1", f"User:{time}")))
    assert thresholds == [
        min(ADMISSION_THRESHOLD << time, HIGHEST_THRESHOLD) for time in range(1, 7)
    ]


def test_a_new_cache_can_be_emptied() -> None:
    RememberedSessions[object]().forget()


def test_a_session_learns_of_each_change_once() -> None:
    cache = RememberedSessions[object]()
    everybodys = PAY._replace(principal="User:*")
    cache.note_change(1, [PAY, PAY._replace(principal="User:eve")])
    cache.note_change(2, [everybodys])
    assert cache.touching(APP, 0) == [everybodys, PAY]
    assert cache.touching(APP, 1) == [everybodys]
    assert cache.touching(APP, 2) == []

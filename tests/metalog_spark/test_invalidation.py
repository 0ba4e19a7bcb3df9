"""The earliest time from which two states can decide differently."""

from __future__ import annotations

from datetime import date

import pytest

from metalog_spark.decide.invalidation import ALWAYS, DecidingRows, first_difference_us, stale_days

OPEN = (True, None, None)
LIFETIMES = {("first", 10): OPEN, ("second", 20): (True, 7, 30)}
RANGES = frozenset([("KNOWN", 0, None)])
PERIODS = frozenset([("[]", "False", None)])
STATE = DecidingRows(LIFETIMES, RANGES, PERIODS)


@pytest.mark.parametrize(
    ("other", "moment"),
    [
        (STATE, None),
        (STATE._replace(lifetimes={**LIFETIMES, ("third", 40): OPEN}), 40),
        (STATE._replace(lifetimes={**LIFETIMES, ("first", 10): (True, 9, 35)}), 35),
        (STATE._replace(lifetimes={**LIFETIMES, ("second", 20): (True, 8, 31)}), 30),
        (STATE._replace(lifetimes={**LIFETIMES, ("second", 20): OPEN}), 30),
        (STATE._replace(lifetimes={("first", 10): OPEN}), 20),
        (STATE._replace(lifetimes={**LIFETIMES, ("old", None): OPEN}), ALWAYS),
        (STATE._replace(ranges=RANGES | {("GAP", 50, 15)}), 15),
        (STATE._replace(ranges=frozenset([("KNOWN", 5, 5)])), ALWAYS),
        (STATE._replace(periods=PERIODS | {("['User:a']", "False", 25)}), 25),
        (STATE._replace(periods=frozenset([("[]", "True", None)])), ALWAYS),
    ],
)
def test_what_is_decided_otherwise(other: DecidingRows, moment: int | None) -> None:
    assert first_difference_us(STATE, other) == moment
    assert first_difference_us(other, STATE) == moment


def test_days_are_stale_from_the_day_of_the_first_difference_on() -> None:
    days = [date(1970, 1, number) for number in (1, 2, 3)]
    assert stale_days(STATE, STATE, days) == frozenset()
    last_of_day_2 = 2 * 86_400_000_000 - 1
    other = STATE._replace(periods=PERIODS | {("[]", "True", last_of_day_2)})
    assert stale_days(STATE, other, days) == {*days[1:]}

"""A statement about another moment than the window says so; without Spark."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from authorizer.config import AuthorizerConfig
from metalog_spark.findings.windows.window import Window
from metalog_spark.history.configuration import DEFAULT_PERIOD, ConfigPeriod
from metalog_spark.report.text.times import configuration_text, log_end


def us(*day: int) -> int:
    return int(datetime(*day, tzinfo=UTC).timestamp()) * 1_000_000  # type: ignore[misc]


APRIL = Window(us(2025, 4, 1), us(2025, 5, 1))
FIVE = AuthorizerConfig(frozenset(f"User:{n}" for n in range(5)), True)
FOUR = AuthorizerConfig(frozenset(f"User:{n}" for n in range(4)), False)
FIRST = ConfigPeriod(None, FIVE, "server.properties")
OPEN, CLOSED = "5 super users, open by default", "4 super users, closed by default"


@pytest.mark.parametrize(
    ("periods", "said"),
    [
        ([FIRST], OPEN),
        ([DEFAULT_PERIOD], "0 super users, closed by default"),
        (
            [FIRST, ConfigPeriod(us(2025, 6, 16, 7), FOUR, "")],
            f"{OPEN}; from 16 June 2025 07:00 on, after this window: {CLOSED}",
        ),
        (
            [FIRST, ConfigPeriod(us(2025, 4, 16, 7, 30), FOUR, "")],
            f"{OPEN}; from 16 April 2025 07:30 on: {CLOSED}",
        ),
        (
            [FIRST, ConfigPeriod(us(2025, 4, 2), FOUR, ""), ConfigPeriod(us(2025, 5, 1), FIVE, "")],
            f"{OPEN}; from 2 April 2025 00:00 on: {CLOSED}; "
            f"from 1 May 2025 00:00 on, after this window: {OPEN}",
        ),
        ([FIRST, ConfigPeriod(APRIL.start_us, FOUR, "")], CLOSED),
        ([FIRST, ConfigPeriod(APRIL.start_us + 1, FIVE, "again")], OPEN),
        (
            [FIRST, ConfigPeriod(us(2025, 6, 1), FOUR, ""), ConfigPeriod(us(2025, 7, 1), FIVE, "")],
            OPEN,
        ),
    ],
)
def test_the_configuration_is_that_of_the_window_and_todays_if_another(
    periods: list[ConfigPeriod], said: str
) -> None:
    assert configuration_text(periods, APRIL) == said


def test_as_many_other_super_users_are_another_configuration() -> None:
    others = FOUR._replace(super_users=frozenset(f"User:x{n}" for n in range(4)))
    periods = [ConfigPeriod(None, FOUR, ""), ConfigPeriod(us(2025, 4, 9), others, "")]
    assert configuration_text(periods, APRIL) == f"{CLOSED}; from 9 April 2025 00:00 on: {CLOSED}"


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ([us(2025, 4, 9), us(2025, 4, 30)], "the log's end (30 April 2025)"),
        ([us(2025, 12, 20), us(2025, 4, 9)], "the log's end (20 December 2025, after this window)"),
        ([us(2025, 5, 1)], "the log's end (1 May 2025, after this window)"),
        ([us(2025, 3, 31)], "the log's end (31 March 2025, before this window)"),
        ([us(2025, 4, 9), None], "the log's end"),
        ([], "the log's end"),
    ],
)
def test_where_the_log_ends_beside_the_window(ends: list[int | None], said: str) -> None:
    assert log_end([{"to_time": end} for end in ends], APRIL) == said

"""The demo's year: times in milliseconds since 1970 (UTC), and day numbers, from 0.

This module must not know the year's events.
"""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Final

from metalog.errors import InvalidRequest

SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
DAYS: Final = 365
YEAR: Final = range(DAYS)


def moment(text: str) -> int:
    """An ISO 8601 time (UTC), in milliseconds since 1970."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * SECOND)


def stamp(time_ms: int) -> str:
    """The time as log4j's ``%d`` writes it."""
    text = datetime.fromtimestamp(time_ms // SECOND, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{text},{time_ms % SECOND:03d}"


START: Final = moment("2025-01-01")
END: Final = START + DAYS * DAY


def days_from(date: str, count: int) -> range:
    """``count`` days of the year from ``date`` on.

    Raises:
        InvalidRequest: the year has fewer days from ``date`` on, or ``count`` is less than 1.
    """
    first = (moment(date) - START) // DAY
    if not 0 < count <= DAYS - first:
        limit = DAYS - first
        raise InvalidRequest(f"--days {count}: write 1 to {limit}; the year ends on 31 December")
    return range(first, first + count)


def is_weekend(day: int) -> bool:
    """2025 begins on a Wednesday."""
    return (2 + day) % 7 >= 5


def office_time(random: Random, day: int) -> int:
    """A random time in the office hours of ``day``; on a weekend, of the Friday before."""
    while is_weekend(day):
        day -= 1
    return START + day * DAY + 8 * HOUR + random.randrange(9 * HOUR)

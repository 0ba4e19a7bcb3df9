"""The earliest time from which two states (ACLs and configuration) can decide differently.

A build decides the days of earlier builds again, from the first difference on. This module must not
know how the tables are filled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from metalog_spark.store.tables import ACL_CHANGELOG, CONFIGURATION, HISTORY

if TYPE_CHECKING:
    from metalog_spark.store.table_store import Tables

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
ALWAYS: Final = 0
"""The time of a difference that concerns all requests."""
_LIFETIMES: Final = (
    "id", "from_offset", "resource_type", "resource_name", "pattern_type", "principal", "host",
    "operation", "permission_type", "from_known", "from_time",
)  # fmt: skip
_ENDS: Final = ("to_known", "to_offset", "to_time")
_RANGES: Final = ("kind", "from_offset", "from_time")
_PERIODS: Final = ("super_users", "allow_everyone", "kafka_version", "from_time")

Row = tuple[Any, ...]


class DecidingRows(NamedTuple):
    """The parts of the tables that decisions depend on. ``lifetimes`` maps each row of
    ACL_CHANGELOG, without its end, to its end. ``ranges`` has the rows of HISTORY, and ``periods``
    the rows of CONFIGURATION, without their ends."""

    lifetimes: dict[Row, Row]
    ranges: frozenset[Row]
    periods: frozenset[Row]


def deciding_in(tables: Tables) -> DecidingRows:
    return deciding_by(
        *(tables.read(table).toArrow() for table in (ACL_CHANGELOG, HISTORY, CONFIGURATION))
    )


def deciding_by(changelog: pa.Table, history: pa.Table, configuration: pa.Table) -> DecidingRows:
    periods = _rows(configuration, _PERIODS)
    return DecidingRows(
        dict(zip(_rows(changelog, _LIFETIMES), _rows(changelog, _ENDS), strict=True)),
        frozenset(_rows(history, _RANGES)),
        frozenset((str(sorted(users)), *map(str, rest), begin) for users, *rest, begin in periods),
    )


def _rows(table: pa.Table, names: Iterable[str]) -> Iterator[Row]:
    """Times are in microseconds since 1970."""
    columns = (table[name] for name in names)
    return zip(
        *(
            column.cast(pa.int64()).to_pylist()
            if pa.types.is_timestamp(column.type)
            else column.to_pylist()
            for column in columns
        ),
        strict=True,
    )


def first_difference_us(one: DecidingRows, other: DecidingRows) -> int | None:
    """The first time from which ``one`` and ``other`` can decide differently, in microseconds since
    1970; None if they decide alike."""
    moments = [row[-1] for row in (one.ranges ^ other.ranges) | (one.periods ^ other.periods)]
    moments += [row[-1] for row in one.lifetimes.keys() ^ other.lifetimes.keys()]
    for lifetime, end in one.lifetimes.items():
        other_end = other.lifetimes.get(lifetime, end)
        if other_end != end:
            moments.append(min(_end_us(end), _end_us(other_end)))
    return min((moment or ALWAYS for moment in moments), default=None)


def stale_days(one: DecidingRows, other: DecidingRows, days: Iterable[date]) -> frozenset[date]:
    """The days in ``days`` (UTC) on which ``one`` and ``other`` can decide differently."""
    moment = first_difference_us(one, other)
    if moment is None:
        return frozenset()
    first = (_EPOCH + timedelta(microseconds=moment)).date()
    return frozenset(day for day in days if day >= first)


def _end_us(end: Row) -> float:
    return float("inf") if end[-1] is None else end[-1]

"""Filters of a query that a log's reader applies itself: Spark's filter pushdown.

The reader applies comparisons of offset and timestamp with constants, and ``=`` and ``IN`` of
types. Spark applies all other filters.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from metalog_spark.history.rows import RecordFilter

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def push(filters: Iterable[Filter], wanted: RecordFilter) -> tuple[RecordFilter, list[Filter]]:
    """``wanted``, narrowed by the ``filters`` that the reader applies, and the other filters."""
    left = []
    for condition in filters:
        narrowed = _narrowed(condition, wanted)
        if narrowed is None:
            left.append(condition)
        else:
            wanted = narrowed
    return wanted, left


def _narrowed(filter: Filter, wanted: RecordFilter) -> RecordFilter | None:
    match filter:
        case IsNotNull(("offset",)):
            return wanted
        case EqualTo(("type",), str(name)):
            return _typed(wanted, {name})
        case In(("type",), names) if all(isinstance(name, str) for name in names):
            return _typed(wanted, names)
        case _:
            bounds = _bounds(filter)
    if bounds is None:
        return None
    column, first, last = bounds
    if column == "offset":
        start = wanted.start if first is None else max(wanted.start, first)
        end = wanted.end if last is None else min(wanted.end, last + 1)
        return wanted._replace(start=start, end=end)
    since = [each for each in (wanted.since_us, first) if each is not None]
    until = [each for each in (wanted.until_us, last) if each is not None]
    return wanted._replace(since_us=max(since, default=None), until_us=min(until, default=None))


def _typed(wanted: RecordFilter, names: Iterable[str]) -> RecordFilter:
    types = frozenset(names)
    types = types if wanted.types is None else types & wanted.types
    return wanted._replace(types=types, keeps_unread=False)


def _bounds(filter: Filter) -> tuple[str, int | None, int | None] | None:
    """The column, and the least and greatest value that passes, both inclusive."""
    match filter:
        case EqualTo((column,), value) if (number := _number(column, value)) is not None:
            return column, number, number
        case GreaterThanOrEqual((column,), value) if (number := _number(column, value)) is not None:
            return column, number, None
        case GreaterThan((column,), value) if (number := _number(column, value)) is not None:
            return column, number + 1, None
        case LessThanOrEqual((column,), value) if (number := _number(column, value)) is not None:
            return column, None, number
        case LessThan((column,), value) if (number := _number(column, value)) is not None:
            return column, None, number - 1
    return None


def _number(column: str, value: object) -> int | None:
    """The value as an offset, or as microseconds since 1970."""
    if column == "offset" and isinstance(value, int):
        return value
    if column == "timestamp" and isinstance(value, datetime) and value.tzinfo is not None:
        return (value - _EPOCH) // _MICROSECOND
    return None

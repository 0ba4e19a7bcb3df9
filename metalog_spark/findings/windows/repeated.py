"""Finds clock hours that came twice because clocks were set back, in logs without a time zone.

A line of such an hour has one of two times. REQUESTS has the first time, POSSIBLE the second time.
These hours need no coverage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from authorizer.audit.layouts import RepeatedSpan, Zone
from metalog.text.plurals import plural
from metalog_spark.coverage.coverage import HOUR_US
from metalog_spark.history.archive_history import KNOWN
from metalog_spark.ingest.set_back import SET_BACK, set_back_texts
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.derived_values import kept_until_commit
from metalog_spark.store.tables import ACL_CHANGELOG, CONFIGURATION, HISTORY, POSSIBLE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from metalog_spark.store.table_store import Tables

HOURS: Final = "broker STRING, hour_us BIGINT, is_repeated BOOLEAN"


class RepeatedHours(NamedTuple):
    """A ``span`` of clock time that came twice in a ``zone``. ``lines`` has each broker and the
    number of its lines that are ambiguous only because of the span. ``text`` has no number, because
    lines that are also ambiguous for other reasons can be from either hour, too."""

    zone: str
    span: RepeatedSpan
    lines: tuple[tuple[str, int], ...]

    def text(self) -> str:
        """``2026-10-25 02:00 to 03:00 came twice in Europe/Berlin (--zone): lines of …``."""
        brokers = ", ".join(broker for broker, _ in self.lines)
        return (
            f"{Zone(self.zone).clock_span(self.span)} came twice in {self.zone} (--zone):"
            f" lines of {plural(len(self.lines), 'broker')} {brokers} can be from either hour, so"
            " the coverage leaves both hours out"
        )

    def overlaps(self, start_us: int, end_us: int) -> bool:
        return self.span.begin_us < end_us and self.span.end_us > start_us

    def hours(self) -> Iterator[tuple[str, int, bool]]:
        """Rows of ``HOURS``."""
        first, last = self.span.begin_us // HOUR_US, (self.span.end_us - 1) // HOUR_US
        for hour in range(first, last + 1):
            yield from ((broker, hour * HOUR_US, True) for broker, _ in self.lines)


def repeated_in(tables: Tables, start_us: int, end_us: int) -> list[RepeatedHours]:
    """The repeated hours that overlap the window, in order."""
    if not tables.has(POSSIBLE):
        return []
    every = _found(tables)
    return [hours for hours in every if hours.overlaps(start_us, end_us)]


def with_repeated(
    coverage: DataFrame, repeated: Sequence[RepeatedHours]
) -> tuple[DataFrame, Column | None]:
    """Rows of COVERAGE, and the condition that a row's hour came twice; None if no hour did."""
    if not repeated:
        return coverage, None
    from pyspark.sql import functions as f

    rows = (row for hours in repeated for row in hours.hours())
    hours = frame_of(coverage.sparkSession, dict.fromkeys(rows), HOURS)
    hours = hours.withColumn("hour", f.timestamp_micros("hour_us"))
    joined = coverage.join(f.broadcast(hours), ["broker", "hour"], "left")
    return joined, f.coalesce("is_repeated", f.lit(False))


def clock_texts(
    facts: Mapping[str, Any], repeated: Sequence[RepeatedHours], start_us: int, end_us: int
) -> tuple[str, ...]:
    return *(hours.text() for hours in repeated), *set_back_texts(
        facts.get(SET_BACK, {}), start_us, end_us
    )


def _repeated_hours(rows: Iterable[tuple[str, str, int, int]]) -> list[RepeatedHours]:
    """``rows`` have a zone, a broker, the second time of a line, and the number of lines in the
    hour of this time."""
    lines_by_span: dict[tuple[str, RepeatedSpan], Counter[str]] = {}
    for zone, broker, us, lines in rows:
        span = Zone(zone).repeated(us)
        if span is not None:
            lines_by_span.setdefault((zone, span), Counter())[broker] += lines
    every = [
        RepeatedHours(*of, tuple(sorted(lines.items()))) for of, lines in lines_by_span.items()
    ]
    return sorted(every, key=lambda hours: (hours.span, hours.zone))


@kept_until_commit
def _found(tables: Tables) -> list[RepeatedHours]:
    from pyspark.sql import functions as f

    twice = tables.read(POSSIBLE).where("zone IS NOT NULL")
    by_hour = twice.groupBy("zone", "broker", f.date_trunc("hour", "time").alias("hour"))
    counts = by_hour.agg(f.unix_micros(f.min("time")).alias("us"), f.count("*").alias("lines"))
    return _repeated_hours(map(tuple, counts.drop("hour").collect()))


def with_a_change(tables: Tables, repeated: Sequence[RepeatedHours]) -> list[RepeatedSpan]:
    """The spans in which the ACLs or the configuration can have changed. Only in these spans can
    the second time of a line mean another use than the first time."""
    from pyspark.sql import functions as f

    spans = sorted({hours.span for hours in repeated})
    if not spans:
        return []
    changes = tables.read(ACL_CHANGELOG)
    ranges = [
        changes.selectExpr("from_time AS first", "from_time AS last"),
        changes.selectExpr("to_time AS first", "to_time AS last"),
        tables.read(CONFIGURATION).selectExpr("from_time AS first", "from_time AS last"),
        tables.read(HISTORY).where(f"kind <> '{KNOWN}'").selectExpr("from_time", "to_time"),
    ]
    every = reduce(lambda one, more: one.unionAll(more), ranges)
    first, last = (f.unix_micros(name) for name in ("first", "last"))
    touches = [
        f.bool_or((first < f.lit(span.end_us)) & (last >= f.lit(span.begin_us))) for span in spans
    ]
    [row] = every.agg(*touches).collect()
    return [span for span, is_touched in zip(spans, row, strict=True) if is_touched]

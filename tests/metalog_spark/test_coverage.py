"""What a broker's log covers, hour by hour, computed by hand."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from metalog_spark.coverage.coverage import counted, counted_before, covered, seen_hours
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import COVERAGE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 3, 1, 22, tzinfo=UTC)
COUNTED = (
    "broker STRING, hour TIMESTAMP, allowed BIGINT, denied BIGINT, is_sure BOOLEAN,"
    " controller BOOLEAN, ambiguous BIGINT"
)


def states(
    spark: SparkSession,
    hours: Mapping[str, list[tuple[int, int]]],
    *lost: tuple[str | None, float, float],
) -> dict[str, str]:
    """By broker, a letter for each hour's numbers of allowed and denied lines; lost ranges of hours
    are of one broker or of any."""
    rows = [
        (broker, START + timedelta(hours=at), *numbers, numbers[0] > 0, False, 0)
        for broker, each in hours.items()
        for at, numbers in enumerate(each)
        if any(numbers)
    ]
    counts = frame_of(spark, rows, COUNTED)
    found: dict[str, list[str]] = {}
    start_us, hour_us = round(START.timestamp() * 1e6), 3_600_000_000
    spans = [
        (broker, start_us + round(begin * hour_us), start_us + round(end * hour_us))
        for broker, begin, end in lost
    ]
    for row in covered(counts, spans).orderBy("broker", "hour").collect():
        of_broker = found.setdefault(row.broker, [])
        assert row.hour.replace(tzinfo=UTC) == START + timedelta(hours=len(of_broker))
        assert (row.allowed, row.denied) == hours[row.broker][len(of_broker)]
        assert row.day == row.hour.date()
        of_broker.append(row.state[0])
    return {broker: "".join(each) for broker, each in found.items()}


def test_each_hour_of_a_brokers_window_has_a_state(spark: SparkSession) -> None:
    no, denial, allowed, both = (0, 0), (0, 3), (1, 0), (10_000, 3)
    hours = {
        "at DEBUG": [both, allowed, both],
        "at INFO": [denial, no, denial],
        "switched": [denial, both, denial, no, both, denial],
        "silent": [allowed, *[no] * 30, allowed],
        "seen once": [denial],
    }
    assert states(spark, hours) == {
        "at DEBUG": "BBB",
        "at INFO": "DND",
        "switched": "DBDNBD",
        "silent": "B" + "N" * 30 + "B",
        "seen once": "D",
    }


def test_in_an_hour_that_lost_lines_nothing_is_sure(spark: SparkSession) -> None:
    both = (1, 1)
    hours = {"1": [both] * 8, "2": [both, (0, 0), both]}
    lost = ("1", 2.5, 3.5), ("1", 5, 5.9), (None, 7, 1_000), ("1", 3, 3), (None, 0.5, 0.5)
    assert states(spark, hours, *lost) == {"1": "DBDDBDBD", "2": "DNB"}


def test_a_clock_that_stood_at_1970_or_9999_costs_next_to_nothing_and_shows_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Brokers log such a time until their clock is set: one line would make 70 million rows of
    silence, or as many folders. Hours in between without a row count as not seen."""
    start, end = datetime(2025, 9, 1, tzinfo=UTC), datetime(2026, 1, 1, 1, tzinfo=UTC)
    clocks = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)
    lines = [("b", at, 1, 0, True, False, 2) for at in (*clocks, start, end)]
    tables = Tables.make(spark, tmp_path)
    tables.replace(COVERAGE, covered(frame_of(spark, lines, COUNTED)))
    assert len(list((tmp_path / "coverage").rglob("*"))) < 50
    found = tables.read(COVERAGE)
    edges = f.unix_seconds(f.min("hour")), f.unix_seconds(f.max("hour"))
    [row] = found.agg(f.count("*"), *seen_hours(f.lit(True)), *edges).collect()
    between = (end - start) // timedelta(hours=1) - 1
    assert tuple(row) == (
        4 + between,
        4,
        4,
        0,
        8,
        0,
        0,
        *(round(each.timestamp()) for each in clocks),
    )


def test_lines_are_counted_by_their_hour_and_none_that_may_be_forged_shows_debug(
    spark: SparkSession,
) -> None:
    """Nor that it is a controller's; a request to a controller with a sure answer does. Kafka
    before 2.4 logs no request name."""
    rows = [
        ("1", "2026-03-01T23:59:59.999Z", "ALLOWED", True, "BrokerHeartbeat"),
        ("1", "2026-03-02T00:00:00Z", "DENIED", False, "CreateTopics"),
        ("1", "2026-03-02T00:59:59Z", "DENIED", False, None),
        ("1", "2026-03-01T23:00:00Z", "ALLOWED", False, "Fetch"),
        ("2", "2026-03-02T00:00:00Z", "ALLOWED", False, None),
        ("3", "2026-03-02T00:00:00Z", "DENIED", False, "Fetch"),
        ("3", "2026-03-02T00:00:01Z", "ALLOWED", True, "Fetch"),
        ("3", "2026-03-02T02:59:59Z", "ALLOWED", True, "CreateTopics"),
        ("c", "2026-03-02T02:59:59Z", "ALLOWED", False, "BrokerHeartbeat"),
    ]
    schema = "broker STRING, at STRING, result STRING, ambiguous BOOLEAN, request_name STRING"
    given = frame_of(spark, rows, schema)
    requests = given.withColumn("time", f.to_timestamp("at"))
    counts = counted(requests)
    columns = ("broker", "string(hour)", "allowed", "denied", "state", "controller", "ambiguous")
    for each in (counts, counted_before(covered(counts))):
        found = covered(each).selectExpr(*columns)
        assert sorted(map(tuple, found.collect())) == [
            ("1", "2026-03-01 23:00:00", 2, 0, "BOTH", False, 1),
            ("1", "2026-03-02 00:00:00", 0, 2, "DENIALS_ONLY", False, 0),
            ("2", "2026-03-02 00:00:00", 1, 0, "BOTH", False, 0),
            ("3", "2026-03-02 00:00:00", 1, 1, "DENIALS_ONLY", False, 1),
            ("3", "2026-03-02 01:00:00", 0, 0, "NOTHING", False, 0),
            ("3", "2026-03-02 02:00:00", 1, 0, "DENIALS_ONLY", False, 1),
            ("c", "2026-03-02 02:00:00", 1, 0, "BOTH", True, 0),
        ]
    wanted = spark.createDataFrame([], COVERAGE.schema).schema
    assert covered(counts).schema.fieldNames() == wanted.fieldNames()
    assert [each.dataType for each in covered(counts).schema] == [each.dataType for each in wanted]

"""The tables that are derived when ``follow`` ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from metalog_spark.findings.windows.pending import UNCOUNTED, uncounted_in
from metalog_spark.follow.tables import complete
from metalog_spark.history.archive_history import ArchiveHistory
from metalog_spark.ingest.lines.audit_log import LOST
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.refusals import FOLLOWED
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import COVERAGE, REJECTED, REQUESTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPIC = "topic://b1:9092/audit"
START = datetime(2026, 3, 1, tzinfo=UTC)


def test_of_lines_that_a_topic_deleted_their_brokers_and_their_partition_say_when(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Partition 1 lost offsets 10 to 19; all brokers continue in another partition. b3's clock is
    an hour ahead of b1's, so times go back where lines are missing."""
    lines = [
        ("b1", f"{TOPIC}/1", 8, 0.5),
        ("b3", f"{TOPIC}/1", 9, 3.5),
        ("b1", f"{TOPIC}/1/20", 1, 2.5),
        ("b3", f"{TOPIC}/1", 21, 4.5),
        *((f"b{number}", f"{TOPIC}/123", hour, hour) for number in (1, 2, 3) for hour in range(6)),
    ]
    tables = Tables.make(spark, tmp_path / "tables")
    tables.store_facts(**{FOLLOWED: {"log": "@prod", "audit": TOPIC}, UNCOUNTED: 1})
    schema = "broker STRING, file STRING, line BIGINT, time TIMESTAMP"
    rows = [(*words, START + timedelta(hours=hour)) for *words, hour in lines]
    asked = frame_of(spark, rows, schema)
    asked = asked.selectExpr("*", "date(time) day", "'ALLOWED' result", "false ambiguous")
    none = frame_of(spark, [], REQUESTS.schema)
    tables.replace(REQUESTS, none.unionByName(asked, allowMissingColumns=True))
    lost = [(f"{TOPIC}/1", 10, "", f"{LOST}: offsets 10 to 19")]
    tables.replace(REJECTED, frame_of(spark, lost, REJECTED.schema))
    complete(tables, ArchiveHistory([], []), "@prod")
    assert uncounted_in(tables) is None
    found: dict[str, str] = {}
    for broker, state in tables.read(COVERAGE).orderBy("hour").select("broker", "state").collect():
        found[broker] = found.get(broker, "") + state[0]
    assert found == {"b1": "DDDDBB", "b2": "BBDDBB", "b3": "BBDDDB"}

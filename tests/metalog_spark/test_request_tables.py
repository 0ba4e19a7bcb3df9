"""Tables of requests from elsewhere: which rows are requests, and which are rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import functions as f

from metalog.acl import Operation, PatternType, ResourceType
from metalog.errors import InvalidRequest
from metalog_spark.coverage.coverage import counted
from metalog_spark.ingest.lines.line_forms import divided
from metalog_spark.ingest.requests import read_table, rejected_of, requests_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime(2026, 1, 1, 12)
ASKED = {
    "time": NOON,
    "principal": "User:a",
    "host": "10.0.0.1",
    "operation": "READ",
    "resource_type": "TOPIC",
    "resource_name": "orders",
    "result": "ALLOWED",
    "pattern_type": None,
}
NUMBER = "resource_reference_count"
WORDS = ("operation", "resource_type", "pattern_type", "result")


def written(path: Path, *rows: dict[str, Any], time: pa.DataType | None = None) -> str:
    """``rows`` of differences from ``ASKED``, each with its number."""
    whole = [{**ASKED, **row} for row in rows]
    columns = {name: [row[name] for row in whole] for name in ASKED}
    columns |= {name: list(range(len(rows))) for name in ("line", NUMBER)}
    table = pa.table(columns)
    times = pa.array(columns["time"], time or pa.timestamp("us", "UTC"))
    parquet.write_table(table.set_column(0, "time", times), path)
    return str(path)


def test_words_may_be_spelt_as_any_kafka_does(spark: SparkSession, tmp_path: Path) -> None:
    spelt = [
        ("Read", "Topic", "Literal", "Allowed"),
        ("read", "topic", "literal", "allowed"),
        ("READ ", " TOPIC", "LITERAL ", "DENIED "),
        ("DescribeConfigs", "TransactionalId", None, "Denied"),
        ("describe_configs", "transactional_id", None, "ALLOWED"),
    ]
    path = written(tmp_path / "t", *(dict(zip(WORDS, each, strict=True)) for each in spelt))
    read = read_table(spark, path)
    found = requests_of(read).orderBy(NUMBER).select(*WORDS).collect()
    assert [tuple(row) for row in found] == [
        ("READ", "TOPIC", "LITERAL", "ALLOWED"),
        ("READ", "TOPIC", "LITERAL", "ALLOWED"),
        ("READ", "TOPIC", "LITERAL", "DENIED"),
        ("DESCRIBE_CONFIGS", "TRANSACTIONAL_ID", "LITERAL", "DENIED"),
        ("DESCRIBE_CONFIGS", "TRANSACTIONAL_ID", "LITERAL", "ALLOWED"),
    ]


@pytest.mark.parametrize("spelt", [str.upper, str.capitalize])
def test_columns_may_have_capitals(
    spark: SparkSession, tmp_path: Path, spelt: Callable[[str], str]
) -> None:
    """As Spark and databases write them; a column that was overlooked would lose its values."""
    path = written(tmp_path / "t", {}, {"pattern_type": "PREFIXED"})
    table = parquet.read_table(path).append_column("broker", pa.array(["b1", "b2"]))
    parquet.write_table(table.rename_columns([*map(spelt, table.column_names)]), path)
    read = read_table(spark, path)
    [request] = requests_of(read).collect()
    assert (request.principal, request.broker, request[NUMBER]) == ("User:a", "b1", 0)
    [rejected] = rejected_of(read).collect()
    assert rejected.reason.startswith("its pattern_type is not LITERAL")


def test_rows_without_a_rule_are_not_half_lines(spark: SparkSession, tmp_path: Path) -> None:
    """Also behind the lines of a log of the same broker, and with a line number of elsewhere."""
    read = read_table(spark, written(tmp_path / "b1.parquet", {}, {"result": "DENIED"}))
    divided_rows = divided(read, {"b1": [0, 0]})
    assert divided_rows.where("reason IS NOT NULL OR possible").isEmpty()
    assert requests_of(divided_rows).count() == 2


def test_hosts_are_written_as_brokers_write_them(spark: SparkSession, tmp_path: Path) -> None:
    hosts = ["10.0.0.9", "::ffff:10.0.0.9", "::1", "proxy-1", "\u00e4:b", "::1"]
    read = read_table(spark, written(tmp_path / "t", *({"host": host} for host in hosts)))
    found = requests_of(read).orderBy(NUMBER).select("host").collect()
    local = "0:0:0:0:0:0:0:1"
    assert [row["host"] for row in found] == [
        "10.0.0.9", "10.0.0.9", local, "proxy-1", "\u00e4:b", local
    ]  # fmt: skip


def test_what_is_no_request_is_rejected_and_no_evidence(
    spark: SparkSession, tmp_path: Path
) -> None:
    """An allowed row that cannot be decided would show its hour as logged, without showing a
    use."""
    time, utf8 = "its time is not in the years 1970 to 9999", "one of time, principal, host,"
    last_us = 253_402_300_799_999_999
    rows: list[tuple[dict[str, Any], str]] = [
        ({"operation": "Levitate"}, "its operation is not one of Kafka's"),
        ({"operation": ""}, "its operation is not one of Kafka's"),
        ({"resource_type": "Queue"}, "its resource_type is not one of Kafka's"),
        ({"pattern_type": "PREFIXED"}, "its pattern_type is not LITERAL"),
        ({"pattern_type": "MATCH"}, "its pattern_type is not LITERAL"),
        ({"result": "PERHAPS"}, "its result is neither ALLOWED nor DENIED"),
        ({"time": -1}, time),
        ({"time": last_us + 1}, time),
        ({"time": 2**63 - 1}, time),
        ({"time": -(2**62)}, time),
        ({"time": None}, utf8),
    ]
    path = written(tmp_path / "t", *(row for row, _ in rows), time=pa.timestamp("us", "UTC"))
    damaged = spark.read.parquet(path).selectExpr("* EXCEPT (resource_name)", "X'61ff' AS raw")
    damaged = damaged.selectExpr("*", "CAST(raw AS STRING) AS resource_name").drop("raw")
    damaged.where("line = 0").write.parquet(str(tmp_path / "no_utf8"))
    read = read_table(spark, path)
    assert requests_of(read).count() == counted(requests_of(read)).count() == 0
    found = rejected_of(read).orderBy(f.expr(f"int(get_json_object(text, '$.{NUMBER}'))")).collect()
    for row, (given, reason) in zip(found, rows, strict=True):
        assert row.reason.startswith(reason), given
        assert '"principal":"User:a"' in row.text
    [row] = rejected_of(read_table(spark, str(tmp_path / "no_utf8"))).collect()
    assert row.reason.startswith(utf8)
    whole = written(tmp_path / "edges", {"time": 0}, {"time": last_us})
    days = [row.day for row in requests_of(read_table(spark, whole)).collect()]
    assert Counter(days) == {date(1970, 1, 1): 1, date(9999, 12, 31): 1}


@pytest.mark.parametrize(
    ("kind", "time", "said"),
    [
        (pa.int64(), 1_767_225_600_000, "bigint"),
        (pa.int32(), 1_767_225_600, "int"),
        (pa.float64(), 1_767_225_600.0, "double"),
        (pa.date32(), date(2026, 1, 1), "date"),
    ],
)
def test_a_time_that_is_no_timestamp_is_refused(
    spark: SparkSession, tmp_path: Path, kind: pa.DataType, time: object, said: str
) -> None:
    """Seconds and milliseconds look alike, and a day is not a time."""
    path = written(tmp_path / "t", {"time": time}, time=kind)
    with pytest.raises(InvalidRequest) as refused:
        read_table(spark, path)
    assert str(refused.value) == (
        f"{path}: the column 'time' has the type {said}; make it a timestamp, for example"
        " from milliseconds by Spark's timestamp_millis(time)"
    )


@pytest.mark.parametrize(
    ("kind", "time"),
    [
        (pa.timestamp("us", "UTC"), NOON),
        (pa.timestamp("us"), NOON),
        (pa.timestamp("ms", "Europe/Berlin"), NOON),
        (pa.string(), "2026-01-01 12:00:00"),
        (pa.string(), "2026-01-01T13:00:00+01:00"),
    ],
)
def test_timestamps_and_texts_are_times(
    spark: SparkSession, tmp_path: Path, kind: pa.DataType, time: object
) -> None:
    [row] = (
        requests_of(read_table(spark, written(tmp_path / "t", {"time": time}, time=kind)))
        .selectExpr("unix_micros(time) AS micros", "day")
        .collect()
    )
    assert (row.micros, row.day) == (1_767_268_800_000_000, date(2026, 1, 1))


def test_every_word_of_kafkas_is_known(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"operation": each.name} for each in Operation]
    rows += [{"resource_type": each.name} for each in ResourceType]
    rows += [{"pattern_type": PatternType.LITERAL.name}]
    read = read_table(spark, written(tmp_path / "t", *rows))
    assert requests_of(read).count() == len(rows)

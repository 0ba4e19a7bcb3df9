"""``--audit`` accepts what Spark reads: tables of lines or requests, and Hadoop's file systems."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from authorizer.audit.layouts import Zone
from metalog.errors import InvalidRequest
from metalog_spark.ingest.audit_files import BrokerPattern
from metalog_spark.ingest.audit_source import listed
from metalog_spark.ingest.audit_tables import read_audit_table
from metalog_spark.ingest.requests import rejected_of, requests_of
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import FILES, POSSIBLE, REJECTED, REQUESTS
from shell.arguments.pipeline import CLUSTER_VARIABLES
from tests.support.command.runs import run_here
from tests.support.spark.followed_world import READ_T, WrittenLog, line

WHOLE = line(60, "User:app", allowed=True)
OTHER = line(120, "User:other", allowed=False)


def written(path: Path, **columns: list[str] | list[bytes]) -> Path:
    parquet.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize(
    "columns",
    [
        {"value": [WHOLE.encode(), b"no line"], "key": [b"1", b"2"]},
        {"text": [WHOLE, "no line"]},
        {"message": [WHOLE[WHOLE.index("Principal") :], "no line"], "time": [WHOLE[1:24], ""]},
    ],
    ids=["value", "the only column", "a row around it"],
)
def test_each_row_of_a_table_is_a_line(
    spark: SparkSession, tmp_path: Path, columns: dict[str, list[str]]
) -> None:
    path = written(tmp_path / "b7.parquet", **columns)
    read = read_audit_table(spark, str(path), Zone("UTC"), None)
    [request] = requests_of(read).collect()
    assert (request.principal, request.resource_name, request.result) == (
        "User:app",
        "t",
        "ALLOWED",
    )
    assert (request.time.minute, request.broker, request.line) == (1, "b7", None)
    [rejected] = rejected_of(read).collect()
    assert "no line" in rejected.text


def test_the_broker_is_named_by_a_column_a_field_or_the_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    def brokers(pattern: BrokerPattern, value: str = "value", **columns: list[str]) -> set[str]:
        spark.createDataFrame(pa.table({value: [WHOLE, OTHER], **columns})).createOrReplaceTempView(
            "lines"
        )
        read = read_audit_table(spark, "table:lines", Zone("UTC"), pattern)
        return {row.broker for row in requests_of(read).collect()}

    assert brokers(None) == {"lines"}
    assert brokers(None, broker=["b1", "b2"]) == {"b1", "b2"}
    assert brokers(None, "text", Broker=["b1", "b2"]) == {"b1", "b2"}
    assert brokers(None, "VALUE", BROKER=["b1", "b2"], HOST=["", ""]) == {"b1", "b2"}
    assert brokers(re.compile("host=(.*)"), host=["b3", "b4"]) == {"b3", "b4"}
    with pytest.raises(Exception, match=r"table:lines: 'host=\(\.\*\)' finds no broker"):
        brokers(re.compile("host=(.*)"))
    with pytest.raises(Exception, match=r"table:lines: 'host=\(\.\*\)' finds no broker"):
        brokers(re.compile("host=(.*)"), host=["b3", ""])


def test_a_build_takes_tables_of_any_format(
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """JSON by Spark's own name for it, and a folder of Parquet by its first file. Each row is
    computed once."""
    for name in CLUSTER_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    log = WrittenLog(tmp_path / "log")
    log.bind(1, 1, READ_T)
    folder = tmp_path / "lines"
    folder.mkdir()
    torn = WHOLE.removesuffix("\n") + WHOLE
    written(folder / "part-0.parquet", value=[WHOLE, "no line", torn])
    rows = [{"message": OTHER[OTHER.index("Principal") :], "@timestamp": OTHER[1:24]}]
    (tmp_path / "more.json").write_text("\n".join(map(json.dumps, rows)))
    seen = tmp_path / "seen"

    def computed(number: int) -> str:
        with seen.open("ab") as opened:
            opened.write(b".")
        return line(200 + number, "User:app", allowed=True)

    view = spark.range(3).select(
        udf(lambda number: computed(number), "STRING")("id").alias("value")
    )
    view.createOrReplaceTempView("computed")
    audit = (
        "table:computed",
        folder,
        f"table:json.`{tmp_path}/more.json`",
        f"file://{tmp_path}/*.log",
    )
    (tmp_path / "b1.log").write_text(WHOLE)
    words = ("pipeline", "build", "--log", log.folder, "--out", tmp_path / "out", "--audit")
    done = run_here(capsys, *words, *audit)
    assert done.returncode == 0, done.stderr
    assert seen.read_bytes() == b"..."
    refused = run_here(capsys, *words, f"file://{folder}/part-*")
    assert f"{folder}/part-0.parquet: a Parquet file among text files" in refused.stderr
    tables = Tables.open(spark, tmp_path / "out")
    found = tables.read(REQUESTS).select("broker", "principal").distinct().collect()
    assert sorted(map(tuple, found)) == [
        ("b1", "User:app"), ("computed", "User:app"), ("lines", "User:app"),
        ("more", "User:other"),
    ]  # fmt: skip
    assert {row.file for row in tables.read(REJECTED).collect()} == {str(folder)}
    assert {row.file for row in tables.read(POSSIBLE).collect()} <= {str(folder)}
    assert [row.path for row in tables.read(FILES).collect()] == [str(tmp_path / "b1.log")]
    assert tables.read(REQUESTS).count() == 6 + tables.read(REQUESTS).where("ambiguous").count()


def test_hadoops_own_file_systems_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """One whose paths do not say where a file lies, like a name node with mounts."""
    (tmp_path / "b1.log").write_text(WHOLE)
    mount = "fs.viewfs.mounttable.prod.link./logs"
    spark.conf.set(mount, f"file://{tmp_path}")
    try:
        [found] = listed(spark, ["viewfs://prod/logs/*.log"]).collect()
    finally:
        spark.conf.unset(mount)
    assert (found.path, found.length) == ("viewfs://prod/logs/b1.log", len(WHOLE))


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("s3a://bucket/logs", "Spark has no jar for s3a://: add org.apache.hadoop:hadoop-aws in"),
        ("x1://bucket/logs", "Spark has no jar for x1://: add the one with Hadoop's file system"),
        ("hdfs://127.0.0.1:1/logs", "cannot be read: .*[Cc]onnection refused"),
        ("hdfs:///logs", "cannot be read: .*Incomplete HDFS URI, no host"),
        ("table:no.such", r"Spark reads no table there: \[TABLE_OR_VIEW_NOT_FOUND\]"),
    ],
)
def test_a_place_that_spark_does_not_reach_is_one_line(
    spark: SparkSession, place: str, said: str
) -> None:
    def looked() -> None:
        if place.startswith("table:"):
            read_audit_table(spark, place, Zone("UTC"), None)
        listed(spark, [place])

    with pytest.raises(InvalidRequest, match=f"^{place}: {said}") as refused:
        looked()
    assert "\n" not in str(refused.value)

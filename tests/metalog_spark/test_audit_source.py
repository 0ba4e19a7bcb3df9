"""Audit files as Spark lists and reads them, with any names."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from authorizer.audit.layouts import Zone
from metalog.errors import InvalidRequest
from metalog_spark.ingest import file_groups
from metalog_spark.ingest.audit_source import LISTED, SPLITS, AuditFiles, listed, read_audit
from metalog_spark.ingest.file_context import resolved
from metalog_spark.ingest.file_groups import FileGroups
from metalog_spark.ingest.requests import rejected_of, requests_of
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.table_store import Tables
from tests.support.spark.followed_world import line

AS_HADOOP_SETS_IT = {
    "fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
TINY = {"spark.sql.files.maxPartitionBytes": "1000", "spark.sql.files.openCostInBytes": "1"}
BY_HOUR = "kafka-authorizer.log.2026-01-01T10:00"


@pytest.fixture
def disk_with_checksums(spark: SparkSession) -> Iterator[SparkSession]:
    """The tests' own Spark has a file system without checksums."""
    for name, value in AS_HADOOP_SETS_IT.items():
        spark.conf.set(name, value)
    yield spark
    for name in AS_HADOOP_SETS_IT:
        spark.conf.unset(name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One plain file and one packed file, both named by an ISO time."""
    text = line(10, "User:app", allowed=True)
    (tmp_path / BY_HOUR).write_text(text)
    (tmp_path / f"{BY_HOUR}.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


@pytest.fixture
def tiny_splits(spark: SparkSession) -> Iterator[SparkSession]:
    before = {name: spark.conf.get(name) for name in TINY}
    for name, value in TINY.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


def test_groups_of_files_are_of_few_days(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file an hour of thirty brokers, as Kafka rolls them, for four days."""
    monkeypatch.setattr(file_groups, "MOST_FILES", 500)
    paths = [
        f"/logs/broker-{broker}/kafka-authorizer.log.2026-01-{day:02}-{hour:02}"
        for broker in range(30)
        for day in range(1, 5)
        for hour in range(24)
    ]
    rows = [(path, number, datetime(2026, 1, 1, tzinfo=UTC)) for number, path in enumerate(paths)]
    files = FileGroups.of(Tables.make(spark, tmp_path / "out"), frame_of(spark, rows, LISTED))
    found = [files.paths(group).to_pylist() for group in files.groups]
    assert sorted(path for group in found for path in group) == sorted(paths)
    assert [len(group) for group in found] == [500] * 5 + [380]
    lengths = {path: number for number, path in enumerate(paths)}
    for group, own in zip(files.groups, found, strict=True):
        assert group.files == len(own)
        assert group.longest == max(map(lengths.__getitem__, own))
        assert group.total == sum(map(lengths.__getitem__, own))
        assert len({path.rpartition("-")[0].rpartition(".")[2] for path in own}) <= 2


def test_lines_are_numbered_in_files_with_several_splits(
    tiny_splits: SparkSession, tmp_path: Path
) -> None:
    """Also beside a packed file."""
    text = "".join(line(at, "User:app", allowed=True) for at in range(10, 40))
    for name in ("one.log", "[two].log", "three.log"):
        (tmp_path / name).write_text(text)
    (tmp_path / "four.log.gz").write_bytes(gzip.compress(text.encode()))
    files = AuditFiles(tiny_splits, pa.array(map(str, tmp_path.iterdir())))
    splits = files.splits().collect()
    assert len(splits) > len({each["path"] for each in splits}) == 3
    lines = {(each["path"], each["start"]): each["lines"] for each in splits}
    before = [
        (path, start, sum(n for (of, at), n in lines.items() if of == path and at < start))
        for path, start in lines
    ]
    rows = files.read(Zone("UTC"), None, before=frame_of(tiny_splits, before, SPLITS))
    found = requests_of(rows).select("file", "line").collect()
    expected = [(str(path), number) for path in tmp_path.iterdir() for number in range(1, 31)]
    assert sorted(map(tuple, found)) == sorted(expected)


def test_spark_does_not_keep_what_it_listed(spark: SparkSession) -> None:
    """By default it keeps 250 MB of it, for the whole session."""
    of_spark = spark.sparkContext._jvm.org.apache.spark.sql.execution.datasources  # type: ignore[union-attr]
    kept = of_spark.FileStatusCache.getOrCreate(spark._jsparkSession)
    assert "NoopCache" in kept.getClass().getName()


def test_a_name_with_a_colon_is_read_on_a_disk(
    disk_with_checksums: SparkSession, folder: Path
) -> None:
    files = [str(folder / BY_HOUR), str(folder / f"{BY_HOUR}.gz")]
    for patterns in ([str(folder)], files, [f"{folder}/**/*T10:00*"]):
        found = listed(disk_with_checksums, patterns).collect()
        assert sorted(each["path"] for each in found) == files
    read = read_audit(disk_with_checksums, files, Zone("UTC"), None)
    rows = read.where("principal IS NOT NULL").select("file", "principal").collect()
    assert sorted(rows) == [(file, "User:app") for file in files]


def test_a_pattern_that_meets_a_colon_says_what_to_name(spark: SparkSession, folder: Path) -> None:
    """Hadoop's own patterns fail there with "Relative path in absolute URI"."""
    with pytest.raises(InvalidRequest, match=rf"/kafka\*: .*{BY_HOUR}.* has a colon: name the"):
        listed(spark, [f"{folder}/kafka*"])


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_a_file_that_ends_within_a_line_has_no_half_name(
    spark: SparkSession, tmp_path: Path, mark: bytes
) -> None:
    """Hadoop removes a byte order mark, and counts it in the file's length."""
    whole = line(10, "User:app", allowed=True)
    half = line(20, "User:app", allowed=True, name="orders").partition("ders")[0]
    (tmp_path / "b1.log").write_bytes(mark + f"{whole}{half}".encode())
    read = read_audit(spark, [str(tmp_path / "b1.log")], Zone("UTC"), None)
    rows, _ = resolved(read, {})
    assert [row["line"] for row in requests_of(rows).collect()] == [1]
    assert [row["line"] for row in rejected_of(rows).collect()] == [2]

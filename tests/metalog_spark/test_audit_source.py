"""Audit files as Spark lists and reads them, with any names."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from authorizer.audit.layouts import Zone
from metalog.errors import InvalidRequest
from metalog_spark.ingest.audit_source import listed, read_audit
from metalog_spark.ingest.file_context import resolved
from metalog_spark.ingest.requests import rejected_of, requests_of
from tests.support.spark.followed_world import line

AS_HADOOP_SETS_IT = {
    "fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
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
    with pytest.raises(InvalidRequest, match=rf"/kafka\*: .*{BY_HOUR}.* with a colon: name the"):
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

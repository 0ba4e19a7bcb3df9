"""A pipeline's folder: a table is the old one or the new one, and days are replaced as days."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from metalog.errors import InvalidRequest, InvalidSource, InvalidTarget
from metalog_spark.folder import Tables
from metalog_spark.tables import COVERAGE, HISTORY, TABLES


def history(spark: SparkSession, *sources: str) -> DataFrame:
    rows = [(source, "KNOWN", 0, 1, None, None, None) for source in sources]
    return spark.createDataFrame(rows, HISTORY.schema)


def coverage(spark: SparkSession, *days: tuple[str, int]) -> DataFrame:
    return spark.sql(
        " UNION ALL ".join(
            f"SELECT 'b' broker, TIMESTAMP '{day} 01:00:00' hour, {allowed}L allowed, 0L denied,"
            f" 'BOTH' state, DATE '{day}' day"
            for day, allowed in days
        )
    )


def sources(tables: Tables) -> list[str]:
    return sorted(row.source for row in tables.read(HISTORY).collect())


def test_a_table_is_replaced_as_a_whole(spark: SparkSession, tmp_path: Path) -> None:
    tables = Tables.make(spark, tmp_path / "out")
    assert not tables.has(HISTORY)
    assert tables.read(HISTORY).count() == 0
    tables.replace(HISTORY, history(spark, "old"))
    reading = Tables.open(spark, tmp_path / "out")
    held = reading.read(HISTORY)
    tables.replace(HISTORY, history(spark, "new", "newer"))
    assert [row.source for row in held.collect()] == ["old"], "a reader keeps what it opened"
    assert sources(Tables.open(spark, tmp_path / "out")) == ["new", "newer"]
    assert tables.read(HISTORY).schema == spark.createDataFrame([], HISTORY.schema).schema


def test_what_was_not_written_to_its_end_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    """As after a crash between the rows and the line that puts them in force."""
    tables = Tables.make(spark, tmp_path)
    tables.replace(HISTORY, history(spark, "old"))
    history(spark, "torn").write.parquet(str(tmp_path / "history" / "place=b"))
    assert sources(Tables.open(spark, tmp_path)) == ["old"]
    tables.replace(HISTORY, history(spark, "new"))
    assert sources(Tables.open(spark, tmp_path)) == ["new"]


def test_days_are_replaced_as_days(spark: SparkSession, tmp_path: Path) -> None:
    tables = Tables.make(spark, tmp_path)

    def replaced(*days: tuple[str, int]) -> dict[str, int]:
        tables.replace_days(COVERAGE, coverage(spark, *days))
        return {str(row.day): row.allowed for row in tables.read(COVERAGE).collect()}

    assert replaced(("2026-01-01", 1), ("2026-01-02", 2)) == {"2026-01-01": 1, "2026-01-02": 2}
    for _ in range(2):
        assert replaced(("2026-01-02", 3)) == {"2026-01-01": 1, "2026-01-02": 3}
    with pytest.raises(InvalidRequest, match="history is not divided"):
        tables.replace_days(HISTORY, history(spark, "x"))


def test_facts_are_kept_beside_the_tables(spark: SparkSession, tmp_path: Path) -> None:
    tables = Tables.make(spark, tmp_path)
    tables.state(zone="UTC", skipped=["a: b"])
    tables.state(zone="Europe/Berlin")
    again = Tables.make(spark, tmp_path)
    assert again.facts == {"zone": "Europe/Berlin", "skipped": ["a: b"]}


def test_a_folder_that_is_none(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing is written among files that are somebody else's."""
    with pytest.raises(InvalidSource, match="not a pipeline's folder; metalog pipeline build"):
        Tables.open(spark, tmp_path / "nothing")
    (tmp_path / "thesis.txt").write_text("…")
    with pytest.raises(InvalidTarget, match="holds files that are no pipeline's"):
        Tables.make(spark, tmp_path)
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "notes").write_text("not ours\n")
    with pytest.raises(InvalidSource, match="not a pipeline's folder"):
        Tables.open(spark, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"thesis.txt", "changes"}


@pytest.mark.parametrize("name", ["out[1]", "o*", "q?", "{a,b}", "a\\b"])
def test_a_name_that_spark_reads_as_a_pattern_is_refused(spark: SparkSession, name: str) -> None:
    """It would write to that name, and read from others."""
    for take in Tables.make, Tables.open:
        with pytest.raises(InvalidRequest, match="part of a pattern; name a folder without"):
            take(spark, f"/nowhere/{name}/tables")


def test_every_table_has_a_schema_that_spark_knows(spark: SparkSession) -> None:
    for table in TABLES.values():
        columns = spark.createDataFrame([], table.schema).columns
        assert columns[len(columns) - len(table.partitions) :] == list(table.partitions)

"""A pipeline's folder: readers see the old or the new version of a table, and days are replaced
whole."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from shutil import rmtree
from typing import Any
from unittest.mock import MagicMock, Mock, PropertyMock

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from metalog.errors import InvalidRequest, InvalidSource, InvalidTarget
from metalog_spark.store.arrow import frame_of
from metalog_spark.store.commit_log import NOTHING
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import HISTORY, TABLES, TableSchema

COUNTED = TableSchema("counted", "allowed BIGINT, day DATE", ("day",))
"""A table that is divided by day."""


def history(spark: SparkSession, *sources: str) -> DataFrame:
    rows = [(source, "KNOWN", 0, 1, None, None, None) for source in sources]
    return frame_of(spark, rows, HISTORY.schema)


def counts(spark: SparkSession, *days: tuple[str, int]) -> DataFrame:
    return spark.sql(
        " UNION ALL ".join(f"SELECT {allowed}L allowed, DATE '{day}' day" for day, allowed in days)
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


def test_a_table_that_is_gone_is_named(spark: SparkSession, tmp_path: Path) -> None:
    tables = Tables.make(spark, tmp_path)
    tables.replace(HISTORY, history(spark, "old"))
    rmtree(tmp_path / "history")
    with pytest.raises(InvalidSource, match=f"^{tmp_path}: its table history is gone; restore the"):
        Tables.open(spark, tmp_path).read(HISTORY)


def test_a_table_that_is_gone_is_named_by_connect_too(tmp_path: Path) -> None:
    """Connect's server opens it later, when rows are fetched."""

    class NotThere(AnalysisException):
        def getCondition(self) -> str:  # noqa: N802 - Spark's name
            return "PATH_NOT_FOUND"

    session, rows = Mock(), MagicMock()
    type(rows).columns = PropertyMock(side_effect=NotThere("p"))
    reader = session.read.format.return_value.schema.return_value.option.return_value
    reader.load.return_value = rows
    contents = NOTHING.after({"places": {"history": "history/place=a"}})
    with pytest.raises(InvalidSource, match=f"^{tmp_path}: its table history is gone; restore the"):
        Tables(session, tmp_path, contents).read(HISTORY)


def test_what_was_not_written_to_its_end_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    """As after a crash between the rows and the line that commits them."""
    tables = Tables.make(spark, tmp_path)
    tables.replace(HISTORY, history(spark, "old"))
    history(spark, "torn").write.parquet(str(tmp_path / "history" / "place=b"))
    assert sources(Tables.open(spark, tmp_path)) == ["old"]
    tables.replace(HISTORY, history(spark, "new"))
    assert sources(Tables.open(spark, tmp_path)) == ["new"]


def days(tables: Tables) -> dict[str, int]:
    rows = tables.read(COUNTED)
    assert tuple(rows.columns) == COUNTED.columns
    return {str(row.day): row.allowed for row in rows.collect()}


def test_days_are_replaced_as_days(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any number of times: now and then the table is written anew."""
    monkeypatch.setattr("metalog_spark.store.table_store._MOST_REPLACEMENTS", 2)
    tables = Tables.make(spark, tmp_path)
    first, second = "2026-01-01", "2026-01-02"
    tables.replace_days(COUNTED, counts(spark, (first, 1), (second, 2)), [first, second])
    for allowed in (3, 4, 4, 5):
        tables.replace_days(COUNTED, counts(spark, (second, allowed)), [second])
        assert days(tables) == days(Tables.open(spark, tmp_path)) == {first: 1, second: allowed}
    tables.replace_days(COUNTED, tables.read(COUNTED).where("false"), [first])
    assert days(Tables.open(spark, tmp_path)) == {second: 5}
    assert {path.name for path in (tmp_path / "counted").iterdir()} == {
        "place=a", "place=a1", "place=a2", "place=a3", "place=b", "place=b1", "place=b2"
    }  # fmt: skip
    with pytest.raises(InvalidRequest, match="history is not partitioned"):
        tables.replace_days(HISTORY, history(spark, "x"), [first])


def test_a_place_is_written_anew_as_a_whole_where_sessions_replace_partitions(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Many clusters set it: a repeated batch, and a replaced table, would keep days that a killed
    process left."""
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        left = counts(spark, ("2026-01-01", 1))
        tables = Tables.make(spark, tmp_path)
        for place in ("batch-0", "a"):
            left.write.partitionBy("day").parquet(str(tmp_path / "counted" / f"place={place}"))
        again = counts(spark, ("2026-01-02", 2))
        tables.commit("batch-0", added={COUNTED: again}, replaced={})
        assert days(tables) == {"2026-01-02": 2}
        tables.commit("batch-1", added={}, replaced={COUNTED: again})
        assert days(tables) == {"2026-01-02": 2}
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")


class Killed(Exception):
    pass


def killed_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Just before the write of this number."""
    steps = count()
    for name in ("_write", "_append"):
        write = getattr(Tables, name)

        def written(*given: Any, write: Any = write, **named: Any) -> None:
            if next(steps) == step:
                raise Killed
            write(*given, **named)

        monkeypatch.setattr(Tables, name, written)


def test_what_is_changed_at_once_is_so_as_a_whole_wherever_it_is_killed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = Tables.make(spark, tmp_path)
    tables.replace(HISTORY, history(spark, "old"))
    tables.replace(COUNTED, counts(spark, ("2026-01-01", 1), ("2026-01-02", 2)))

    def change() -> None:
        with tables.one_commit():
            tables.replace(HISTORY, history(spark, "new"))
            tables.replace_days(COUNTED, counts(spark, ("2026-01-02", 3)), ["2026-01-02"])
            tables.store_facts(of="the new")
            assert sources(tables) == ["new"]

    for step in range(3):
        with monkeypatch.context() as patch:
            killed_at(step, patch)
            with pytest.raises(Killed):
                change()
        for each in (tables, Tables.open(spark, tmp_path)):
            assert sources(each) == ["old"]
            assert days(each) == {"2026-01-01": 1, "2026-01-02": 2}
            assert not each.facts
    change()
    for each in (tables, Tables.open(spark, tmp_path)):
        assert sources(each) == ["new"]
        assert days(each) == {"2026-01-01": 1, "2026-01-02": 3}
        assert each.facts == {"of": "the new"}


def test_what_batches_added_is_joined(spark: SparkSession, tmp_path: Path) -> None:
    tables = Tables.make(spark, tmp_path)
    for number in range(5):
        rows = history(spark, f"batch {number}")
        tables.commit(f"batch-{number}", added={HISTORY: rows}, replaced={})
        tables.join(HISTORY, 2)
        assert sources(Tables.open(spark, tmp_path)) == [f"batch {n}" for n in range(number + 1)]
    assert len(tables._places(HISTORY)) == 3, "three in one, and two"


def test_a_line_that_a_killed_process_had_all_but_written_did_not_happen(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark's committer takes the remains into the list with the next line."""
    one = Tables.make(spark, tmp_path)
    assert not [*tmp_path.iterdir()], "nothing is there before something is written"
    one.store_facts(before="both")
    other = Tables.open(spark, tmp_path)
    one.replace(HISTORY, history(spark, "dead"))
    other.replace(HISTORY, history(spark, "alive", "too"))
    assert sources(Tables.open(spark, tmp_path)) == ["alive", "too"]


def test_a_list_that_lost_a_line_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """As after a power cut, or in a partial copy."""
    tables = Tables.make(spark, tmp_path)
    for source in "first", "second":
        tables.replace(HISTORY, history(spark, source))
    [lost] = (path for path in (tmp_path / "changes").iterdir() if '"serial": 2' in read(path))
    lost.unlink()
    for take in Tables.make, Tables.open:
        with pytest.raises(InvalidSource, match="changes: line 2 is missing"):
            take(spark, tmp_path)


def read(path: Path) -> str:
    return path.read_text(errors="replace")


def test_facts_are_kept_beside_the_tables(spark: SparkSession, tmp_path: Path) -> None:
    tables = Tables.make(spark, tmp_path)
    tables.store_facts(zone="UTC", skipped=["a: b"])
    tables.store_facts(zone="Europe/Berlin")
    again = Tables.make(spark, tmp_path)
    assert again.facts == {"zone": "Europe/Berlin", "skipped": ["a: b"]}
    assert again.marked("told") is None
    for number in (3, 10, 9):
        again.mark("told", number)
    assert again.marked("told") == 10


def test_a_folder_that_is_none(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing is written among other people's files."""
    with pytest.raises(InvalidSource, match="not a pipeline's folder; metalog pipeline build"):
        Tables.open(spark, tmp_path / "nothing")
    (tmp_path / "thesis.txt").write_text("…")
    with pytest.raises(InvalidTarget, match="holds files that are not a pipeline's"):
        Tables.make(spark, tmp_path)
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "notes").write_text("not ours\n")
    with pytest.raises(InvalidSource, match="not a pipeline's folder"):
        Tables.open(spark, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"thesis.txt", "changes"}


@pytest.mark.parametrize("name", ["out[1]", "o*", "q?", "{a,b}", "a\\b"])
def test_a_name_that_spark_reads_as_a_pattern_is_refused(spark: SparkSession, name: str) -> None:
    """Spark would write to that name, and read from others."""
    for take in Tables.make, Tables.open:
        with pytest.raises(InvalidRequest, match="part of a pattern; name a folder without"):
            take(spark, f"/nowhere/{name}/tables")


def test_every_table_has_a_schema_that_spark_knows(spark: SparkSession) -> None:
    for table in TABLES.values():
        columns = spark.createDataFrame([], table.schema).columns
        assert columns[len(columns) - len(table.partitions) :] == list(table.partitions)

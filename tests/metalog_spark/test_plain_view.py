"""The rows that DuckDB counts in ``current``, at each step of a change and after kills."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from metalog_spark.store.arrow import frame_of
from metalog_spark.store.commit_log import NOTHING
from metalog_spark.store.plain_view import publish
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import REJECTED, TABLES, USAGE, TableSchema
from tests.support.spark.plain_parquet import counts, sums

FIRST, SECOND = "2026-01-01", "2026-01-02"
STEPS = (
    *((Tables, name) for name in ("_write", "_append")),
    *((Path, name) for name in ("hardlink_to", "rename", "replace")),
)
"""Everything that changes the folder's files."""


class Killed(Exception):
    pass


def rows_of(spark: SparkSession, table: TableSchema, **columns: object) -> DataFrame:
    """A row with these values alone."""
    row = tuple(columns.get(name) for name in table.columns)
    return frame_of(spark, [row], table.schema)


def used(spark: SparkSession, day: str, requests: int) -> DataFrame:
    return rows_of(spark, USAGE, requests=requests, day=date.fromisoformat(day))


def rejected(spark: SparkSession, line: int) -> DataFrame:
    return rows_of(spark, REJECTED, line=line)


Seen = tuple[int | None, int | None]


def seen(folder: Path) -> Seen:
    """DuckDB's sums of two tables, of one version."""
    view = (folder / "current").resolve()
    return sums(view, REJECTED, "line"), sums(view, USAGE, "requests")


@contextmanager
def at_each_step(look: Callable[[int], None]) -> Iterator[None]:
    steps = count()

    def stepping(do: Callable[..., Any]) -> Callable[..., Any]:
        def step(*given: Any, **named: Any) -> Any:
            look(next(steps))
            return do(*given, **named)

        return step

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in STEPS:
            patch.setattr(owner, name, stepping(getattr(owner, name)))
        yield


@contextmanager
def killed_at(step: int) -> Iterator[None]:
    def kill(number: int) -> None:
        if number == step:
            raise Killed

    with at_each_step(kill):
        yield


def change(spark: SparkSession, tables: Tables) -> None:
    """As a build does: one commit for a whole table and a day of another."""
    with tables.one_commit():
        tables.replace(REJECTED, rejected(spark, 5))
        tables.replace_days(USAGE, used(spark, SECOND, 3), [SECOND])


def made_in(spark: SparkSession, folder: Path) -> Tables:
    tables = Tables.make(spark, folder)
    tables.replace(REJECTED, rejected(spark, 1))
    tables.replace(USAGE, used(spark, FIRST, 10).unionAll(used(spark, SECOND, 20)))
    return tables


@pytest.fixture
def old(spark: SparkSession, tmp_path: Path) -> Tables:
    return made_in(spark, tmp_path)


@pytest.fixture(scope="module")
def still(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """As ``old``, for tests that change nothing."""
    return made_in(spark, tmp_path_factory.mktemp("still"))


OLD: Seen = 1, 30
NEW: Seen = 5, 13


def test_at_each_step_of_a_change_the_view_is_the_old_tables_or_the_new(
    spark: SparkSession, old: Tables, tmp_path: Path
) -> None:
    found = []
    with at_each_step(lambda _: found.append(seen(tmp_path))):
        change(spark, old)
    assert len(found) > 6
    assert set(found) == {OLD}, "the last step is the one that shows the new"
    assert seen(tmp_path) == NEW


def test_a_writer_that_was_killed_leaves_the_old_view_until_the_next_one(
    spark: SparkSession, old: Tables, tmp_path: Path
) -> None:
    """Killed at any point after its commit, before the view was updated: three steps, of two writes
    and a line."""
    with killed_at(5), pytest.raises(Killed):
        change(spark, old)
    assert seen(tmp_path) == OLD
    for step in range(100):
        with killed_at(step), suppress(Killed):
            Tables.make(spark, tmp_path)
        if seen(tmp_path) != OLD:
            break
    assert step > 3
    assert seen(tmp_path) == NEW


def test_what_batches_add_and_join_counts_once(spark: SparkSession, tmp_path: Path) -> None:
    tables = Tables.make(spark, tmp_path)
    for number in range(1, 6):
        tables.commit(f"batch-{number}", added={REJECTED: rejected(spark, 1)}, replaced={})
        tables.join(REJECTED, 2)
        assert seen(tmp_path)[0] == number
    versions = [path.name for path in (tmp_path / "versions").iterdir()]
    assert len(versions) == 3, "readers that have begun go on, and old versions do not pile up"


def test_each_table_is_there_for_a_pattern_before_it_has_a_row(still: Tables) -> None:
    """Also for Spark, which must find the day columns."""
    view = Path(still.path, "current").resolve()
    expected = dict.fromkeys(TABLES, 0) | {REJECTED.name: 1, USAGE.name: 2}
    assert counts(view) == expected
    read = still.session.read.parquet(f"{still.path}/current/{USAGE.name}")
    assert set(read.columns) == set(USAGE.columns)


def test_a_reader_that_resolved_the_link_keeps_its_version(
    spark: SparkSession, old: Tables, tmp_path: Path
) -> None:
    held = (tmp_path / "current").resolve()
    change(spark, old)
    old.replace(REJECTED, rejected(spark, 7))
    assert sums(held, REJECTED, "line") == OLD[0], "its files outlive their place in the store"
    assert sums(tmp_path / "current", REJECTED, "line") == 7


def test_there_is_no_view_of_tables_that_lie_elsewhere(still: Tables, tmp_path: Path) -> None:
    """The same path may be on another machine's disk, or in a stale copy."""
    publish(Path(still.path), still.contents._replace(serial=99))
    publish(tmp_path / "nowhere", NOTHING)
    assert seen(Path(still.path)) == OLD
    assert not (tmp_path / "nowhere").exists()


def test_a_disk_without_hard_links_has_copies(
    spark: SparkSession, old: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "hardlink_to", refused)
    change(spark, old)
    shutil.rmtree(tmp_path / "rejected")
    assert seen(tmp_path) == NEW

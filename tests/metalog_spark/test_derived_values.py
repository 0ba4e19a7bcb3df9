"""A value is computed once a commit, in all tables of a session, and never for other tables."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from threading import Barrier, Event

import pytest
from pyspark.sql import DataFrame, SparkSession

from metalog_spark.store.arrow import frame_of
from metalog_spark.store.commit_log import NOTHING
from metalog_spark.store.derived_values import DerivedValues, kept_until_commit, query_threads
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import HISTORY

MOST = 64
MADE: list[int] = []


@kept_until_commit
def rows_above(tables: Tables, offset: int) -> int:
    MADE.append(offset)
    return tables.read(HISTORY).where(f"from_offset > {offset}").count()


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Tables:
    MADE.clear()
    return built(spark, tmp_path / "out", 3)


def built(spark: SparkSession, folder: Path, *offsets: int) -> Tables:
    tables = Tables.make(spark, folder)
    tables.replace(HISTORY, history(spark, *offsets))
    return tables


def history(spark: SparkSession, *offsets: int) -> DataFrame:
    rows = [("source", "KNOWN", offset, 0, None, None, None) for offset in offsets]
    return frame_of(spark, rows, HISTORY.schema)


def test_tables_opened_again_do_not_compute_it_again(tables: Tables) -> None:
    assert rows_above(tables, 2) == rows_above(tables, 2) == 1
    assert rows_above(Tables.open(tables.session, tables.path), 2) == 1
    assert MADE == [2]
    assert rows_above(tables, 3) == 0


def test_a_commit_computes_it_anew(tables: Tables) -> None:
    assert rows_above(tables, 2) == 1
    built(tables.session, Path(tables.path), 3, 4)
    assert rows_above(Tables.open(tables.session, tables.path), 2) == 2


def test_a_folder_that_was_built_again_is_another_one(tables: Tables) -> None:
    """Its commit log has the same lines, apart from their times."""
    assert rows_above(tables, 2) == 1
    rmtree(tables.path)
    built(tables.session, Path(tables.path), 1)
    assert rows_above(Tables.open(tables.session, tables.path), 2) == 0


def test_nothing_is_kept_of_changes_that_may_be_dropped(tables: Tables) -> None:
    with suppress(KeyboardInterrupt), tables.one_commit():
        tables.replace(HISTORY, history(tables.session, 3, 4, 5))
        assert rows_above(tables, 2) == 3
        raise KeyboardInterrupt
    assert rows_above(tables, 2) == 1


def test_an_error_is_not_kept(tables: Tables) -> None:
    @kept_until_commit
    def fails_once(tables: Tables) -> bool:
        if rows_above(tables, 2) and len(MADE) == 1:
            MADE.append(0)
            raise ValueError
        return True

    with pytest.raises(ValueError):
        fails_once(tables)
    assert fails_once(tables)


def test_a_session_keeps_the_values_that_were_used_last() -> None:
    values = DerivedValues()

    def get(key: int, new: str = "new") -> str:
        return values.get(key, NOTHING, lambda: new)

    for key in range(MOST):
        get(key, "old")
    get(0)
    get(MOST)
    assert get(0) == "old"
    assert get(1) == "new"


def test_queries_of_several_threads_run_at_the_same_time(tables: Tables) -> None:
    all_run = Barrier(4, timeout=60)

    def rows_when_all_run(offset: int) -> int:
        all_run.wait()
        return rows_above(tables, offset)

    with query_threads() as threads:
        assert [*threads.map(rows_when_all_run, (0, 1, 2, 3))] == [1, 1, 1, 0]
    assert sorted(MADE) == [0, 1, 2, 3]
    assert [rows_above(tables, offset) for offset in (0, 1, 2, 3)] == [1, 1, 1, 0]
    assert len(MADE) == 4, "the values of all threads are kept"


def test_an_interruption_does_not_wait_for_queries() -> None:
    ended = Event()
    queries: list[Future[bool]] = []
    with suppress(KeyboardInterrupt), query_threads() as threads:
        queries.append(threads.submit(ended.wait, 60))
        raise KeyboardInterrupt
    assert not queries[0].done()
    ended.set()
    assert queries[0].result()

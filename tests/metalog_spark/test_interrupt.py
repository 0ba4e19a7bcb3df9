"""Ctrl-C while tables change: the old or the new ones are in force, and the message says which."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from metalog_spark.store.arrow import frame_of
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import HISTORY

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


def rows_of(spark: SparkSession, count: int) -> DataFrame:
    return frame_of(spark, [("log", "KNOWN", 0, 1, None, None, None)] * count, HISTORY.schema)


def test_an_interrupt_at_the_moment_of_change_comes_when_it_is_over(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the message about the state would be a guess."""
    tables = Tables.make(spark, tmp_path)
    write = Tables._append

    def interrupted(*line: Any, **options: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        write(*line, **options)

    tables.replace(HISTORY, rows_of(spark, 1))
    monkeypatch.setattr(Tables, "_append", interrupted)
    with pytest.raises(KeyboardInterrupt), tables.one_commit():
        tables.replace(HISTORY, rows_of(spark, 2))
    for each in (tables, Tables.open(spark, tmp_path)):
        assert each.read(HISTORY).count() == 2

"""``metalog pipeline export`` and views for SQL: other programs find the same rows as our
reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from metalog_spark import register_views
from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import DECISIONS, TABLES, TableSchema
from tests.support.command.help_examples import as_printed
from tests.support.command.runs import run_here
from tests.support.spark.plain_parquet import counts, rows_in
from tests.support.spark.small_shop import SHOP

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return SHOP.folder(spark, tmp_path_factory.mktemp("shop") / "tables")


def by_us(table: TableSchema, micros: str) -> list[str]:
    """The columns, with times as microseconds since 1970."""
    kinds = (column.split() for column in table.schema.split(", "))
    return [f"{micros}({name})" if kind == "TIMESTAMP" else name for name, kind in kinds]


def test_duckdb_finds_every_row_of_an_export(
    tables: Tables, tmp_path: Path, capsys: Captured
) -> None:
    out = tmp_path / "lake" / "acls"
    places = {"prod.tables": tables.path, "/data/acl-audit": out}
    example = "metalog pipeline export prod.tables /data/acl-audit"
    done = run_here(capsys, *as_printed(example, places), "--json")
    assert done.returncode == 0, done.stderr
    ours = {name: tables.read(table).count() for name, table in TABLES.items()}
    assert counts(out) == ours
    assert f'{{"table":"usage","rows":{ours["usage"]}}}' in done.stdout.splitlines()
    read = tables.read(DECISIONS).selectExpr(*by_us(DECISIONS, "unix_micros")).collect()
    found = rows_in(out, DECISIONS, ", ".join(by_us(DECISIONS, "epoch_us")))
    assert sorted(found, key=repr) == sorted(map(tuple, read), key=repr)
    assert [path.name for path in (out / "decisions").glob("day=*")] == ["day=2026-01-01"]
    assert [path.name for path in out.parent.iterdir()] == ["acls"]


def test_an_export_that_fails_leaves_nothing(
    tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("metalog_spark.store.parquet_export._write", full)
    done = run_here(capsys, "pipeline", "export", tables.path, tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert not [*tmp_path.iterdir()]


def test_an_export_is_written_over_nothing(
    tables: Tables, tmp_path: Path, no_spark: None, capsys: Captured
) -> None:
    (tmp_path / "thesis.txt").write_text("…")
    for out, why in (
        (tmp_path, "not empty; name a new or empty folder"),
        (Path(tables.path, "x"), "lies in the tables'"),
    ):
        done = run_here(capsys, "pipeline", "export", tables.path, out)
        assert (done.returncode, done.stdout) == (2, "")
        assert why in done.stderr


def test_sql_asks_the_tables_by_name(spark: SparkSession, tables: Tables) -> None:
    names = register_views(spark, tables.path, prefix="shop_")
    assert names == tuple(f"shop_{name}" for name in TABLES)
    try:
        [row] = spark.sql("SELECT count(*) AS n, sum(requests) AS m FROM shop_usage").collect()
        assert row["m"] == spark.table("shop_decisions").count() > row["n"] > 0
    finally:
        for name in names:
            spark.catalog.dropTempView(name)

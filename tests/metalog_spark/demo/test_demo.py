"""``metalog pipeline demo``: the pipeline finds exactly what the year contains. Run over the first
days of April; on the last, a grant is lost while a broker's clock is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from metalog_spark.store.table_store import Tables
from metalog_spark.store.tables import ACL_CHANGELOG, COVERAGE, DECISIONS, REJECTED, REQUESTS, USAGE
from tests.support.command.help_examples import as_printed
from tests.support.command.runs import run_here

REQUESTS_MADE = 3_000
DAYS = 15


def test_the_pipeline_finds_in_the_year_what_was_put_there(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "year"
    places = {"200000": str(REQUESTS_MADE), "30": str(DAYS)}
    example = "metalog pipeline demo --requests 200000 --days 30"
    done = run_here(capsys, *as_printed(example, places), "--out", out)
    assert done.returncode == 0, done.stderr
    truth = json.loads((out / "truth.json").read_text())
    tables = Tables.open(spark, out / "tables")

    check_every_line_is_accounted_for(tables, truth)
    check_only_what_was_planned_disagrees(tables, truth)
    check_an_acl_is_alive_when_it_is_used(tables, truth)

    assert (out / "report.html").stat().st_size > 10_000
    assert f"{out}/report.html" in done.stdout
    assert f"  metalog pipeline unused {out}/tables --from 2025-04-01 --tolerate 1%" in done.stdout
    again = run_here(capsys, "pipeline", "demo", "--out", out)
    assert again.returncode == 2
    assert "already exists; name a new or empty folder" in again.stderr


@pytest.mark.parametrize(
    ("requests", "said"),
    [
        ("1999", "a year needs 2,000 or more"),
        ("-4", "give a whole number, 1 or more"),
        ("1e5", "give a whole number, 1 or more"),
    ],
)
@pytest.mark.usefixtures("no_spark")
def test_a_year_that_is_none_is_refused_before_spark_starts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, requests: str, said: str
) -> None:
    out = tmp_path / "year"
    done = run_here(capsys, "pipeline", "demo", "--out", out, "--requests", requests)
    assert done.returncode == 2
    assert f"--requests {requests}: {said}" in done.stderr
    assert not out.exists()


@pytest.mark.usefixtures("no_spark")
def test_the_name_of_a_source_is_not_a_folder_to_write(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_here(capsys, "pipeline", "demo", "--out", "@demo")
    assert (done.returncode, [*tmp_path.iterdir()]) == (2, [])
    assert "@demo is a SOURCE, not a folder; give a folder, or ./@demo" in done.stderr


def check_every_line_is_accounted_for(tables: Tables, truth: dict[str, Any]) -> None:
    answers = truth["allowed"], truth["denied"]
    results = [f"count_if(result = '{result}')" for result in ("ALLOWED", "DENIED")]
    found = counted(tables.read(REQUESTS), "count(*)", *results, "count_if(ambiguous)")
    assert found == (sum(answers), *answers, truth["ambiguous"])
    assert truth["requests"] == REQUESTS_MADE
    assert sum(answers) == truth["requests"] - truth["unlogged"]
    assert counted(tables.read(REJECTED), "count(*)") == (truth["rejected"],)
    assert counted(tables.read(COVERAGE), "sum(allowed)", "sum(denied)") == answers
    assert counted(tables.read(USAGE), "sum(requests)") == (sum(answers),)


def counted(rows: DataFrame, *columns: str) -> tuple[int, ...]:
    [row] = rows.selectExpr(*columns).collect()
    return tuple(row)


def check_only_what_was_planned_disagrees(tables: Tables, truth: dict[str, Any]) -> None:
    decisions = tables.read(DECISIONS)
    unknown, unsaid = "NOT known OR disagrees IS NULL", "NOT disagrees AND decided <> result"
    assert counted(decisions, f"count_if({unknown})", f"count_if({unsaid})") == (0, 0)
    said = decisions.where("disagrees").select(
        f.date_format("time", "yyyy-MM-dd HH:mm:ss,SSS"),
        "broker", "principal", "host", "operation", "resource_name",
    )  # fmt: skip
    found = sorted(map(tuple, said.collect()))
    assert found == sorted(tuple(each.values()) for each in truth["disagreements"])
    assert len(found) > 1


def check_an_acl_is_alive_when_it_is_used(tables: Tables, truth: dict[str, Any]) -> None:
    lifetimes = tables.read(ACL_CHANGELOG)
    assert sum(counted(lifetimes, "count(*)", "count(to_time)")) == truth["aclChanges"]
    uses = tables.read(DECISIONS).where("acl_id IS NOT NULL").select("time", "acl_id", "log_offset")
    born = lifetimes.select("id", "from_time", "from_offset", "to_time", "to_offset")
    joined = uses.join(born, f.col("acl_id") == f.col("id"), "left")
    is_dead = (
        "id IS NULL OR time < from_time OR time >= to_time"
        " OR log_offset < from_offset OR log_offset >= to_offset"
    )
    used, dead = counted(joined, "count(*)", f"count_if({is_dead})")
    assert used > REQUESTS_MADE / 2
    assert dead == 0

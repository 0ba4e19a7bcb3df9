"""The benchmark of the pipeline asks the stated questions, all ways agree, and its page compares
them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.kafka.cases import REPOSITORY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BENCH = REPOSITORY / "bench"
MODULES = ("pipeline", "pipeline_page", "changes_page", "workloads")


@pytest.fixture(autouse=True)
def _bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCH)
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_rows_are_distinct_or_come_again_and_all_ways_agree(spark: SparkSession) -> None:
    from pipeline import by_joins, ours, requests

    asked = ["principal", "host", "operation", "resource_name"]
    rows = {each: requests(spark, each, 400, 500).cache() for each in ("skewed", "distinct")}
    assert rows["distinct"].dropDuplicates(asked).count() == 500
    assert rows["skewed"].dropDuplicates(asked).count() < 500
    answers = ("line", "decided", "decided_rule", "acl_id", "known")
    found = [
        way(spark, 400, 20)(rows["skewed"]).select(*answers).orderBy("line").collect()
        for way in (ours, by_joins)
    ]
    assert found[0] == found[1]
    assert {row.decided for row in found[0]} == {"ALLOWED", "DENIED"}


def test_the_page_takes_off_what_making_the_rows_costs() -> None:
    from pipeline_page import (
        DISTINCT,
        JOINS,
        NOTHING,
        OURS,
        SKEWED,
        UDF,
        YEAR,
        PipelineCase,
        PipelineFigures,
        page,
    )

    ours = PipelineFigures(6_000_000, [(5, 9), (1, 9), (3, 9)], [(9, 4), (6, 3), (7, 5)], 300.4)
    slow = PipelineFigures(1_000_000, [(1, 1)], [(5, 4)], 200)
    joins = PipelineFigures(1_000, [(0, 1)], [(10, 4)], 0)
    found = {
        PipelineCase(OURS, SKEWED, 10_000, YEAR, 6_000_000): ours,
        PipelineCase(OURS, DISTINCT, 10_000, YEAR, 6_000_000): ours._replace(deciding=[(43, 9)]),
        PipelineCase(NOTHING, SKEWED, 10_000, YEAR, 6_000_000): ours._replace(deciding=[(6, 9)]),
        PipelineCase(UDF, SKEWED, 10_000, YEAR, 1_000_000): slow,
        PipelineCase(JOINS, SKEWED, 10_000, YEAR, 1_000): joins,
        PipelineCase(OURS, SKEWED, 10_000, YEAR, 60_000_000): ours._replace(rows=60_000_000),
    }
    text = page(found, "make it")
    assert "| 10,000 | skewed | 1,500,000 | 500,000 | 0.67 | 1.17 | 1,500,000 |" in text
    assert "| 10,000 | distinct | 150,000 | 250,000: **not met** | 6.67 | 7.17 | 666,667 |" in text
    assert "| 10,000 | skewed | 1,500,000 | 250,000 | 6 | 100 | 15,000 |" in text
    assert "| skewed | 0.67 | 0.50 | 0.17 |" in text
    assert "| 10,000 | 60,000,000 | 7.0 | 0.12 | 15,000,000 | 500,000 |" in text
    assert "| 10,000 | 2,000 | skewed, 6,000,000 | 300 |" in text
    assert "`make it`" in text

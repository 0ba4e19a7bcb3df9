from __future__ import annotations

import sys
from pathlib import Path

import pytest

from authorizer.audit.layouts import Zone
from metalog_spark.ingest.lines.audit_lines import read_text
from tests.support.kafka.cases import REPOSITORY

BENCH = REPOSITORY / "bench"
MODULES = ("builds", "audit_archive", "pipeline", "pipeline_page", "changes_page", "workloads")


@pytest.fixture(autouse=True)
def _bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCH)
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_lines_are_kafkas_and_the_hard_ones_name_a_topic_each(tmp_path: Path) -> None:
    from audit_archive import HARD, REAL, STRANGERS, lines, write_small_files

    topics, principals = [], []
    for traffic in (REAL, HARD, STRANGERS):
        found = [read_text(line, Zone("UTC")).request for line in lines(traffic, 300)]
        rows = [request[0] for request in found if request is not None]
        assert len(rows) == 300
        assert not any(row.ambiguous for row in rows)
        topics.append(len({row.resource_name for row in rows}))
        principals.append(len({row.principal for row in rows}))
    assert topics[0] < topics[1] == 300
    assert principals[1] < 285 < principals[2]
    write_small_files(tmp_path, 31, 2)
    assert len([*tmp_path.glob("broker-00/*")]) == 2
    assert sum(path.read_text().count("\n") for path in tmp_path.rglob("*.log.*")) == 62


def test_the_page_tells_what_lines_cost_beyond_the_first() -> None:
    from builds import SMALL, BuildCase, BuildFigures, page

    step = "reading 1 audit file, and deciding"
    found = {
        BuildCase("real", 1_000_000): BuildFigures([(step, 50.0)], 9, 0),
        BuildCase("real", 3_000_000): BuildFigures([(step, 90.0)], 9, 0),
        BuildCase(SMALL, 1_000): BuildFigures(
            [("reading 1,000 audit files, and deciding", 7.0)], 9, 0, [170, 180], [90, 80], 3
        ),
    }
    text = page(found, "here")
    assert "| real | 3,000,000 | 90 | 9 |  | 20.0 | 50,000 |" in text
    assert "| 1,000 small files | 40,000 | 7 | 9 | 3 |  |  |" in text
    assert "| 1,000 small files, 40,000 lines | 170 | 180 | 90 | 80 |" in text
    assert "| reading audit files, and deciding | 50.0 | 90.0 | 7.0 |" in text
    assert "*real*: 30 s + 20.0 µs a line" in text

"""The page of the reading verbs says what was measured, and what of it is wanted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.kafka.cases import REPOSITORY

BENCH = REPOSITORY / "bench"


def test_the_page_says_which_goals_are_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCH)
    for name in ("verbs", "run", "changes_page", "workloads", "big_log"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    from verbs import DUMP, IMAGE, JOBS, Spent, commands, page

    found = {name: [Spent(3.0, 4.0, 60.0)] for name in commands(Path("log"))}
    found[f"kafka: {DUMP}"] = [Spent(each, 9.0, 200.0) for each in (1.0, 3.0, 50.0)]
    found[f"kafka: {IMAGE}"] = [Spent(1.5, 9.0, 200.0)]
    text = page(found, "make bench-verbs")
    assert "`make bench-verbs`" in text
    assert "| `acls` | 3.00 | 2 | **not met** | 4.00 | 60 |" in text
    assert "| `history` | 3.00 | 3 | met | 4.00 | 60 |" in text
    assert f"| {DUMP} | 3.00 | 3.00 | 1.00 | met |" in text
    assert f"| {IMAGE} | 1.50 | 3.00 | 0.50 | **not met** |" in text
    assert len([line for line in text.splitlines() if line.startswith("| `")]) == len(JOBS)

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.command.runs import run_python
from tests.support.disk.written_log import formatted
from tests.support.kafka.cases import REPOSITORY

BENCH = REPOSITORY / "bench"


def test_our_side_creates_and_tells_each_round(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "node")
    job = ("create", folder, "4", "0.1", "0.2", "2")
    paths = {"PYTHONPATH": str(BENCH)}
    done = run_python(BENCH / "changes.py", "--job", *job, environment=paths)
    assert done.returncode == 0, done.stderr
    ready, *rounds = done.stdout.splitlines()
    assert ready == "ready"
    assert len(rounds) == 2
    for line in rounds:
        creates, wall_ns, cpu_ns = map(int, line.split())
        assert creates > 0
        assert wall_ns > 2e8
        assert cpu_ns > 0


def test_the_page_compares_medians(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCH)
    monkeypatch.delitem(sys.modules, "changes_page", raising=False)
    from changes_page import OURS, Round, page

    creates = {
        "Kafka": {1: [Round(10, 1, 0.5), Round(40, 2, 0.2), Round(30, 1, 0.3)]},
        OURS: {1: [Round(80, 1, 0.2)]},
    }
    kafka = {"write": [[10, 4]], "load": [[30, 3], [50, 5], [40, 4]]}
    ours = {"write": [[20, 8]], "load": [[20, 8]]}
    text = page(creates, (kafka, ours), "make it", "4.3.1")
    assert "| 1 | Kafka | 20 | 10,000 | 4.00 | 4.00 |" in text
    assert "| written and synced | 10 | 20 | 0.50 | 4 | 8 | 0.50 |" in text
    assert "| loaded into an image | 40 | 20 | 2.00 | 4 | 8 | 0.50 |" in text
    assert "`make it`" in text

from __future__ import annotations

import sys

import pytest

from tests.support.kafka.cases import REPOSITORY


def test_the_page_compares_medians(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(REPOSITORY / "bench")
    for name in ("changes_page", "node_page"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    from changes_page import OURS
    from node_page import Load, NodeFigures, page

    slow, fast = [Load(10, 0.2, 1e-3)] * 3, [Load(5, 9, 9), Load(40, 0.1, 2e-4), Load(80, 0, 0)]
    found = {
        "Kafka": NodeFigures(slow, slow, slow, 300, 310, [400, 410, 405]),
        OURS: NodeFigures(fast, fast, slow, 40, 80, [90, 91, 90]),
    }
    text = page(found, "make it", "4.3.1")
    assert "| Kafka | 10 | 200 | 1,000 | 4.00 |" in text
    assert f"| {OURS} | 40 | 100 | 200 |  |" in text
    assert "| one does | Kafka | 10.0 | 200 | 1,000 | 1.00 |" in text
    assert f"| {OURS} | 40 | 80 | 90 | 91 | 90 |" in text
    assert "`make it`" in text

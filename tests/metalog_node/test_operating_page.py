"""The guide's tables of a node's keys and metrics are the code's."""

from __future__ import annotations

from cases import REPOSITORY
from node_tables import key_table, metric_table

PAGE = (REPOSITORY / "docs" / "guide" / "operating.md").read_text(encoding="utf-8")
HOW = "python tests/support/node_tables.py prints it"


def test_each_key_is_on_the_page() -> None:
    assert key_table() in PAGE, HOW


def test_each_metric_is_on_the_page() -> None:
    assert metric_table() in PAGE, HOW

"""A plugin of pytest: tests run in the order of the time that they took without a change.

Most changes are noticed by any test that runs the changed line, so the cheapest should be the
first. This module must not know what is changed.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

STATS = Path("mutmut-stats.json")
"""Written by mutmut into the folder that it runs the tests in."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if STATS.exists():
        took: dict[str, float] = json.loads(STATS.read_text())["duration_by_test"]
        items.sort(key=lambda item: took.get(item.nodeid, 0.0))

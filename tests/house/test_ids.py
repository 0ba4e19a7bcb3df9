"""A test's id goes from worker to worker with each report, and to the processes that it starts."""

from __future__ import annotations

import pytest

LONGEST = 1_000


def test_no_id_is_long(request: pytest.FixtureRequest) -> None:
    assert max(len(item.nodeid) for item in request.session.items) < LONGEST

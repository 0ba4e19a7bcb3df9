"""Test ids are short: each report carries one between workers, and every child process gets one."""

from __future__ import annotations

import pytest

LONGEST = 1_000


def test_no_id_is_long(request: pytest.FixtureRequest) -> None:
    assert max(len(item.nodeid) for item in request.session.items) < LONGEST

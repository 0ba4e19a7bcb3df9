"""At any failed or torn disk operation, and any later loss: acknowledged changes are there, no
change is there in part, and the log can be written again."""

from __future__ import annotations

import pytest

from tests.support.disk.crash_world import crashed_at, steps

CRASHES = 2


@pytest.mark.once
@pytest.mark.parametrize("tear", [False, True], ids=["fails", "tears"])
def test_what_was_acknowledged_survives(tear: bool) -> None:
    for fail_at in range(steps()):
        first = fail_at * CRASHES
        crashed_at(fail_at, tear=tear, seeds=range(first, first + CRASHES))

"""Whatever step of the disk fails or is torn, and whatever it then forgets: what was
acknowledged is there, nothing is half there, and the log is written on."""

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

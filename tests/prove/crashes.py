"""A disk that fails or tears at one of its steps, and a crash after it: see ``crash_world``."""

from __future__ import annotations

from tests.prove.promise import Promise
from tests.support.disk.crash_world import crashed_at, steps


def unit(seed: int) -> int:
    """Each step of the disk, failed and torn, with different lost writes."""
    for tear in (False, True):
        for fail_at in range(steps()):
            crashed_at(fail_at, tear=tear, seeds=[seed])
    return 2 * steps()


PROMISE = Promise("crashes", "a step of the disk that fails or is torn, and a crash", unit)

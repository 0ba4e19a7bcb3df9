"""Waits for another thread or process, and no longer than necessary."""

import time
from collections.abc import Callable

_LONGEST_S = 60


def eventually(condition: Callable[[], object]) -> bool:
    """Whether ``condition`` became true within a generous time limit.

    The pause before the next check is a tenth of the time waited so far, within bounds.
    """
    begin = time.monotonic()
    while not condition():
        waited = time.monotonic() - begin
        if waited > _LONGEST_S:
            return False
        time.sleep(min(max(waited / 10, 0.002), 0.1))
    return True

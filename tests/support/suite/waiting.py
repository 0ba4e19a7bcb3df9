"""Waits for what another thread or process does, and no longer than it must."""

import time
from collections.abc import Callable

_LONGEST_S = 60


def eventually(condition: Callable[[], object]) -> bool:
    """Whether ``condition`` came to hold before anybody would give up.

    It is asked again after a tenth of the time that was waited so far, within bounds.
    """
    begin = time.monotonic()
    while not condition():
        waited = time.monotonic() - begin
        if waited > _LONGEST_S:
            return False
        time.sleep(min(max(waited / 10, 0.002), 0.1))
    return True

"""Waits for what another thread or process does, and no longer than it must."""

import time
from collections.abc import Callable

_LONGEST_S = 20


def eventually(condition: Callable[[], object]) -> bool:
    """Whether ``condition`` came to hold before anybody would give up."""
    deadline = time.monotonic() + _LONGEST_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True

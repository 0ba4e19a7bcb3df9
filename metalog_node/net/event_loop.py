"""An event loop whose rounds stay short, however many sockets are ready at once.

asyncio calls back for every ready socket in one round: thousands of clients that send a byte at
the same moment, or hang up, hold everybody else until the last of them is done. Here a round
takes a few, in the order in which the system told of them, and the others have their turn before
the system is asked again. What runs in a round beside is for ``loop_budget`` to bound. This
module must not know who is connected.
"""

from __future__ import annotations

import asyncio
import selectors
from collections import deque
from typing import Final

MOST_SOCKETS: Final = 64
"""That are called back for in a round."""

_Ready = tuple[selectors.SelectorKey, int]


class FewAtATime(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self._left: deque[_Ready] = deque()

    def select(self, timeout: float | None = None) -> list[_Ready]:
        """At most ``MOST_SOCKETS``. What is no longer registered as it was is left out: the
        system tells of it again if it is still ready."""
        found: list[_Ready] = []
        if not self._left:
            self._left.extend(super().select(timeout))
        registered = self.get_map()
        while self._left and len(found) < MOST_SOCKETS:
            key, events = self._left.popleft()
            if registered.get(key.fd) is key:
                found.append((key, events))
        return found


def new_event_loop() -> asyncio.AbstractEventLoop:
    """For a node: pass it as ``loop_factory`` to ``asyncio.Runner``."""
    return asyncio.SelectorEventLoop(FewAtATime())

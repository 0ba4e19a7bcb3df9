"""An event loop whose rounds stay short, however many sockets are ready at once.

asyncio serves every ready socket in one round. If thousands of clients send a byte at the same
moment, any other client waits for all of them. Here a round serves only a few sockets.
``loop_budget`` bounds the other work of a round. This module must not know who is connected.
"""

from __future__ import annotations

import asyncio
import selectors
from collections import deque
from typing import Final

MOST_SOCKETS: Final = 64
"""The maximum number of sockets in one round."""

_Ready = tuple[selectors.SelectorKey, int]


class LimitedSelector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self._left: deque[_Ready] = deque()

    def select(self, timeout: float | None = None) -> list[_Ready]:
        """At most ``MOST_SOCKETS`` ready sockets. Sockets whose registration has changed are left
        out: the system reports them again."""
        ready: list[_Ready] = []
        if not self._left:
            self._left.extend(super().select(timeout))
        registered = self.get_map()
        while self._left and len(ready) < MOST_SOCKETS:
            key, events = self._left.popleft()
            if registered.get(key.fd) is key:
                ready.append((key, events))
        return ready


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A node's event loop: pass this function as ``loop_factory`` to ``asyncio.Runner``."""
    return asyncio.SelectorEventLoop(LimitedSelector())

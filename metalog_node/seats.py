"""How many clients a node takes at a time: never more than it has files for.

Each client costs an open file, and a log that finds none for its next segment is fenced: so
some are left for the node itself, whoever knocks. For one event loop. This module must not
know who sits where.
"""

from __future__ import annotations

import logging
import resource
from typing import Final

_log = logging.getLogger(__name__)

_FILES_OF_THE_NODE: Final = 128
"""Segments, snapshots, connections to controllers and to a topic's cluster, metrics."""


class Seats:
    """At most ``most`` clients together."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0
        self._refused = 0

    def take(self, listener: str) -> bool:
        """False where there is none left, which the log says once and not for each client."""
        if self._taken >= self._most:
            if not self._refused:
                _log.warning(
                    "%s: no more than %d client%s at a time, by max.connections and the limit of "
                    "open files (ulimit -n); the next are closed",
                    listener,
                    self._most,
                    "" if self._most == 1 else "s",
                )
            self._refused += 1
            return False
        self._taken += 1
        return True

    def leave(self) -> None:
        self._taken -= 1
        if self._refused:
            _log.warning("there is room for clients again; closed meanwhile: %d", self._refused)
            self._refused = 0


def seats_for(max_connections: int) -> Seats:
    """As many as are allowed, and as this process may have files for."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return Seats(max_connections)
    return Seats(min(max_connections, max(files - _FILES_OF_THE_NODE, files // 2)))

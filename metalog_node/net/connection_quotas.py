"""Connection quotas: a node never accepts more clients than it has file descriptors for.

If the log cannot open its next segment, it accepts no more writes. So some descriptors are reserved
for the node itself. Only one event loop may use the quotas. This module must not know which client
has which connection.
"""

from __future__ import annotations

import logging
import resource
from collections import Counter
from collections.abc import Mapping
from typing import Final

_log = logging.getLogger(__name__)

_FILES_OF_THE_NODE: Final = 128
"""File descriptors reserved for segments, snapshots, the metrics endpoint, and connections to
controllers or to the cluster of a followed topic.
"""


class ConnectionQuotas:
    """At most ``most`` clients together, ``most_of_one`` at one address, and ``most_at[NAME]`` at
    a listener."""

    def __init__(self, most: int, most_of_one: int, most_at: Mapping[str, int]) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._most_at = most_at
        self._taken = 0
        self._at: Counter[str] = Counter()
        self._of: Counter[str] = Counter()
        self._refused = 0

    def take(self, listener: str, host: str) -> bool:
        """Count one more client, or return False if a quota is exhausted. After a logged refusal,
        further refusals are not logged until a client leaves."""
        why = None
        if self._taken >= self._most:
            why = f"{self._most} clients (max.connections, or the limit of open files)"
        elif self._of[host] >= self._most_of_one:
            why = f"{self._most_of_one} clients from {host} (max.connections.per.ip)"
        elif self._at[listener] >= self._most_at.get(listener, self._most):
            why = f"{self._most_at[listener]} clients at this listener (its own max.connections)"
        if why is not None:
            if not self._refused:
                _log.warning("%s: at the limit of %s; further clients are refused", listener, why)
            self._refused += 1
            return False
        self._taken += 1
        self._of[host] += 1
        self._at[listener] += 1
        return True

    def leave(self, listener: str, host: str) -> None:
        self._taken -= 1
        self._at[listener] -= 1
        self._of[host] -= 1
        if not self._of[host]:
            del self._of[host]
        if self._refused:
            _log.warning("new clients are accepted again; refused clients: %d", self._refused)
            self._refused = 0


def quotas_for(
    max_connections: int, max_per_address: int, max_at: Mapping[str, int] | None = None
) -> ConnectionQuotas:
    """The configured limits, lowered to the file descriptors of this process."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY:
        max_connections = min(max_connections, max(files - _FILES_OF_THE_NODE, files // 2))
    return ConnectionQuotas(max_connections, max_per_address, max_at or {})

"""Connection quotas: a node never accepts more clients than it has file descriptors for.

If the log cannot open its next segment, it accepts no more writes. So some descriptors are reserved
for the node itself. Only one event loop may use the quotas. This module must not know which client
has which connection.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Mapping
from typing import Final

_FILES_OF_THE_NODE: Final = 128
"""Reserved for segments, snapshots, the metrics endpoint, and connections to other servers."""


class ConnectionQuotas:
    """At most ``most`` clients together, ``most_per_host`` from one address, and ``most_at[NAME]``
    at the listener NAME."""

    def __init__(self, most: int, most_per_host: int, most_at: Mapping[str, int]) -> None:
        self._most = most
        self._most_per_host = most_per_host
        self._most_at = most_at
        self._taken = 0
        self._by_listener: Counter[str] = Counter()
        self._by_host: Counter[str] = Counter()

    def take(self, listener: str, host: str) -> str | None:
        """Count one more client and return None, or return which quota is exhausted."""
        if self._taken >= self._most:
            return f"{self._most} clients (max.connections, or the limit of open files)"
        if self._by_host[host] >= self._most_per_host:
            return f"{self._most_per_host} clients from {host} (max.connections.per.ip)"
        if self._by_listener[listener] >= self._most_at.get(listener, self._most):
            return f"{self._most_at[listener]} clients at this listener (its own max.connections)"
        self._taken += 1
        self._by_host[host] += 1
        self._by_listener[listener] += 1
        return None

    def leave(self, listener: str, host: str) -> None:
        self._taken -= 1
        self._by_listener[listener] -= 1
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]


def quotas_for(
    max_connections: int, max_per_address: int, max_at: Mapping[str, int] | None = None
) -> ConnectionQuotas:
    """The configured limits. ``max_connections`` is lowered if file descriptors are too few."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY:
        max_connections = min(max_connections, max(files - _FILES_OF_THE_NODE, files // 2))
    return ConnectionQuotas(max_connections, max_per_address, max_at or {})

"""A node's pages for operators: metrics, and a liveness and a readiness probe.

A node becomes ready when its log is replayed and all its listeners are open. After a later fault,
the node stays ready with its last good image, until ``stale.deny.after.ms`` (if set) is over. A
node with a blocked event loop is not ready. A node is not alive if only a restart can help. The
thread of ``http_endpoint`` reads the pages. This module must not know HTTP, nor change what it
reads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from authorizer.interface import Authorizer
from metalog.loader import Loading, Stale, State
from metalog.replica.replica import Replica
from metalog_node.config.listeners import Listener
from metalog_node.net.server import OpenListener
from metalog_node.ops.http_endpoint import Page, text_page
from metalog_node.ops.metrics import CONTENT_TYPE, Condition, Metrics

LATE_AFTER_S: Final = 3.0
"""The node is not ready if its event loop has been blocked for this long."""
STUCK_AFTER_S: Final = 60.0
"""The node is not alive if its event loop has been blocked for this long."""
BEAT_S: Final = 0.25


class Probed(NamedTuple):
    """A node's state, as the probes judge it.

    - ``failing_s``: for how long the image has perhaps been older than the log.
    - ``shut``: the listeners that are not open yet.
    - ``deny_after_ms``: ``stale.deny.after.ms``.
    - ``fence``: why this node, as the log's writer, accepts no more changes.
    - ``late_s``: how long the event loop has been blocked.
    """

    state: State
    failing_s: float | None
    shut: Sequence[str]
    deny_after_ms: int | None
    fence: Exception | None = None
    late_s: float = 0.0


def health(probed: Probed) -> tuple[bool, str]:
    if probed.fence is not None:
        return False, f"nothing more can be written: {probed.fence}"
    if probed.late_s >= STUCK_AFTER_S:
        return False, f"stuck: no client was served for {probed.late_s:.0f} s"
    return True, "alive"


def readiness(probed: Probed, now: datetime) -> tuple[bool, str]:
    if probed.late_s >= LATE_AFTER_S:
        return False, f"not ready: no client was served for {probed.late_s:.0f} s"
    state = probed.state
    fault = state.fault if isinstance(state, (Loading, Stale)) else None
    since = _since(probed.failing_s, now)
    if isinstance(state, Loading):
        end = "an unknown end" if state.high_watermark is None else state.high_watermark
        loading = f"loading, at offset {state.position} of {end}"
        failing = f"the load has failed since {since}: {fault}"
        return False, f"not ready: {loading if fault is None else failing}"
    if probed.shut:
        return False, f"not ready: not open yet: {', '.join(probed.shut)}"
    if not isinstance(state, Stale):
        return True, f"ready, at offset {state.offset}"
    limit = probed.deny_after_ms
    if limit is not None and (probed.failing_s or 0) * 1000 >= limit:
        return False, f"not ready: stale since {since}, and stale.deny.after.ms is over: {fault}"
    return True, f"ready, but stale since {since}: {fault}"


def _since(failing_s: float | None, now: datetime) -> str:
    began = now.astimezone(UTC) - timedelta(seconds=failing_s or 0)
    return began.strftime("%Y-%m-%dT%H:%M:%SZ")


class Heartbeat:
    """Measures how long the event loop has been blocked. The loop beats every ``BEAT_S`` seconds.
    Any thread may read ``late_s``."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start on the running event loop."""
        self._task = asyncio.create_task(self._beat())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def late_s(self) -> float:
        """How many seconds the next beat is late, or 0."""
        return max(0.0, time.monotonic() - self._last - BEAT_S) if self._task is not None else 0.0

    async def _beat(self) -> None:
        while True:
            self._last = time.monotonic()
            await asyncio.sleep(BEAT_S)


class NodeState:
    """Reads a node's state for its pages. ``opened`` are the open listeners, by name."""

    def __init__(
        self,
        replica: Replica,
        authorizer: Authorizer | None,
        listeners: Sequence[Listener],
        opened: Mapping[str, OpenListener],
        *,
        deny_after_ms: int | None,
        lost_lines: Callable[[], Mapping[str, int]],
    ) -> None:
        self._replica = replica
        self._authorizer = authorizer
        self._names = [listener.name for listener in listeners]
        self._opened = opened
        self._deny_after_ms = deny_after_ms
        self._lost_lines = lost_lines
        self.heartbeat = Heartbeat()

    def pages(self, metrics: Metrics) -> dict[str, Callable[[], Page]]:
        return {
            "/metrics": lambda: Page(metrics.text(), content_type=CONTENT_TYPE),
            "/healthz": lambda: text_page(*health(self._probed())),
            "/readyz": lambda: text_page(*self._readiness()),
        }

    def condition(self) -> Condition:
        replica, state = self._replica, self._replica.state
        applied = replica.image.provenance.offset
        reached = state.position if isinstance(state, Loading) else applied
        mark, silent_s = replica.high_watermark, replica.silent_for_s
        return Condition(
            is_ready=self._readiness()[0],
            stale_s=replica.failing_for_s or 0.0,
            last_applied_offset=applied - 1,
            lag=None if mark is None else max(mark - reached, 0),
            acl_count=None if self._authorizer is None else self._authorizer.acl_count(),
            listeners={name: self._of_listener(name) for name in self._names},
            loop_late_s=self.heartbeat.late_s,
            lost_lines=self._lost_lines(),
            last_contact_s=None if silent_s is None else time.time() - silent_s,
        )

    def _of_listener(self, name: str) -> tuple[bool, int]:
        opened = self._opened.get(name)
        return opened is not None, 0 if opened is None else opened.clients

    def _readiness(self) -> tuple[bool, str]:
        return readiness(self._probed(), datetime.now(UTC))

    def _probed(self) -> Probed:
        return Probed(
            self._replica.state,
            self._replica.failing_for_s,
            [name for name in self._names if name not in self._opened],
            self._deny_after_ms,
            self._replica.fence,
            self.heartbeat.late_s,
        )

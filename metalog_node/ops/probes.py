"""A node's liveness and readiness probes.

A node is ready when its log is replayed and all its listeners are open. After a later fault, the
node stays ready with the last good image, and the probe says since when that image is stale. The
node becomes unready only in two cases: ``stale.deny.after.ms`` has closed the readiness gate, or
the node's event loop serves nobody. The node is alive unless only a restart can help. This module
must not know sockets or clocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from metalog.loader import Loading, Stale, State

LATE_AFTER_S: Final = 3.0
"""The node is not ready if its event loop has served nobody for this long."""
STUCK_AFTER_S: Final = 60.0
"""The node is not alive if its event loop has served nobody for this long: only a restart
helps."""


class Probed(NamedTuple):
    """A node's state, as the probes judge it.

    - ``shut``: the listeners that are not open yet.
    - ``failing_s``: how long the replay has been failing, if it fails.
    - ``deny_after_ms``: ``stale.deny.after.ms``.
    - ``fence``: why the log can no longer be written; None if it can.
    - ``late_s``: for how long the event loop has served no client.
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
    state, fault = probed.state, _fault(probed.state)
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


def _fault(state: State) -> Exception | None:
    return state.fault if isinstance(state, (Loading, Stale)) else None


def _since(failing_s: float | None, now: datetime) -> str:
    began = now.astimezone(UTC) - timedelta(seconds=failing_s or 0)
    return began.strftime("%Y-%m-%dT%H:%M:%SZ")

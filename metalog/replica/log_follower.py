"""Follows a log: reads the log to its end, polls for more records, and feeds a loader.

After a fault, the last good image stays in force. The follower reads the log again after a pause of
at most ``MAX_BACKOFF_S``. While this node leads the log, ``LogLeader`` runs instead. Only the
replica's thread may call ``run``. Any thread may read the properties. This module must not know the
kind of log, nor what publishers do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event
from typing import Final
from weakref import ref

from metalog.errors import ConfigException, MetalogError, Unanswered, forget_frames
from metalog.gc_pause import gc_paused
from metalog.ids import FORMATTED_SNAPSHOT, SnapshotId
from metalog.loader import Loader, Loading, Ready, Stale, State, feed
from metalog.loader.other_kafka import ForeignTracesLog
from metalog.ports import LiveLog, LoadObserver, Log, PeerLog, SnapshotNeeded
from metalog.replica.log_leader import LogLeader
from metalog.replica.staleness import Staleness

_log = logging.getLogger(__name__)
POLL_S: Final = 0.5
"""How long one poll waits for records, in seconds. ``run`` can take so long to stop, or longer if a
server does not answer."""
MIN_BACKOFF_S: Final = 0.1
MAX_BACKOFF_S: Final = 10.0
SILENT_AFTER_S: Final = 2.0
"""The log's server is silent after this many seconds without an answer. A good server answers twice
a second."""


class LogFollower:
    """Feeds ``loader`` from ``log``.

    Args:
        prepare: called before each attempt to ``begin``; may raise the errors of
            ``WritableLog.claim``.
        observers: publishers that report to waiting callers why the log is not loaded yet.
        monotonic_s: a clock in seconds.
    """

    def __init__(
        self,
        log: Log,
        loader: Loader,
        leader: LogLeader,
        prepare: Callable[[], None],
        observers: Sequence[LoadObserver],
        monotonic_s: Callable[[], float],
    ) -> None:
        self._log = log
        self._loader = loader
        self._leader = leader
        self._prepare = prepare
        self._observers = observers
        self._monotonic_s = monotonic_s
        self._has_begun = False
        self._failing_since_s: float | None = None
        self._foreign = ForeignTracesLog()
        self._closing = Event()
        # A weak reference, because gc_paused freezes this object, and frozen cycles are not freed.
        follower = ref(self)
        self.staleness = Staleness(loader, lambda: _failing_for_s(follower()))

    @property
    def state(self) -> State:
        """The loader's state; ``Stale`` replaces ``Ready`` while the log's server is silent."""
        state, silent_s = self._loader.state, self.silent_for_s or 0.0
        if isinstance(state, Ready) and silent_s >= SILENT_AFTER_S:
            why = Unanswered(f"no answer from the log for {silent_s:.0f} s")
            return Stale(state.offset, why)
        return state

    @property
    def silent_for_s(self) -> float | None:
        """Seconds since the last answer of the log's server.

        None for a local log, before the first answer, and while this node leads the log.
        """
        has_peer = not self._leader.is_active and isinstance(self._log, PeerLog)
        return self._log.silent_for_s if has_peer else None  # type: ignore[attr-defined]

    @property
    def failing_for_s(self) -> float | None:
        """Seconds since a fault stopped the replay, or since a silent server's last answer.

        The longer time, or None if there is neither. The image may be older than the log.
        """
        since, silent_s = self._failing_since_s, self.silent_for_s
        if silent_s is not None and silent_s < SILENT_AFTER_S:
            silent_s = None
        failing_s = None if since is None else self._monotonic_s() - since
        return max(filter(None, (failing_s, silent_s)), default=failing_s)

    def begin(self) -> None:
        """Claim the log or stand for election; raises the errors of ``WritableLog.claim``."""
        if not self._has_begun:
            self._prepare()
            self._leader.begin()
            self._has_begun = True

    def run(self, fault: Exception | None) -> None:
        """Follow the log until ``stop``, or to the end of a log that is not live.

        Args:
            fault: the error of a failed ``begin``, already reported; or None.
        """
        backoff, before = MIN_BACKOFF_S, self._loader.position
        while fault is not None or (fault := self._stopped_by()) is not None:
            self._loader.note_fault(fault)
            self.note_load_fault(fault)
            if isinstance(self._loader.state, (Loading, Stale)):
                self._leader.fail_waiting(self._loader.state.fault)
            if self._failing_since_s is None or self._loader.position > before:
                heard_s = self._monotonic_s() - (self.silent_for_s or 0.0)
                self._failing_since_s, backoff = heard_s, MIN_BACKOFF_S
            self.staleness.check()
            self._closing.wait(backoff)
            backoff = min(backoff * 2, MAX_BACKOFF_S)
            fault, before = None, self._loader.position

    def stop(self) -> None:
        """Make ``run`` return soon. While this node leads the log, call ``LogLeader.stop``, too."""
        self._closing.set()

    def note_load_fault(self, fault: Exception) -> None:
        if isinstance(self._loader.state, Loading):
            for each in self._observers:
                each.note_load_fault(fault)

    def report(self, fault: Exception) -> Exception:
        """Write ``fault`` to this program's own log; return ``fault`` without its traceback."""
        problem = "replay stopped" if self._has_begun else "replay cannot begin"
        if isinstance(fault, (MetalogError, OSError)):
            retry = "" if isinstance(fault, ConfigException) else " and will be retried"
            _log.warning("%s%s: %s", problem, retry, fault)
        else:
            _log.error("%s because of a bug, and will be retried", problem, exc_info=fault)
        forget_frames(fault)
        return fault

    def _stopped_by(self) -> Exception | None:
        if self._closing.is_set():
            return None
        try:
            self.begin()
            self._follow()
        except Exception as fault:
            return self.report(fault)
        return None

    def _follow(self) -> None:
        log, leader, is_closing = self._log, self._leader, self._closing.is_set
        with gc_paused():
            catch_up(self._loader, log, is_closing)
        self._foreign.log_new(self._loader.image.features, self._loader.skipped)
        if isinstance(self._loader.state, Ready):
            self._failing_since_s = None
        if is_closing():
            return
        if leader.has_writable_log:
            leader.lead(is_closing)
        elif isinstance(log, LiveLog):
            while not is_closing():
                feed(self._loader, log, log.poll(POLL_S))
                self._foreign.log_new(self._loader.image.features, self._loader.skipped)
                if leader.is_elected:
                    leader.lead_until_dismissed(is_closing)
                    catch_up(self._loader, log, is_closing)


def _failing_for_s(follower: LogFollower | None) -> float | None:
    return None if follower is None else follower.failing_for_s


def catch_up(loader: Loader, log: Log, is_over: Callable[[], bool]) -> None:
    """Feed ``log`` to ``loader`` up to the log's end, or until ``is_over()``.

    If a snapshot is damaged, the loader gets an older snapshot. Raises the errors of the log and
    the loader.
    """
    while not _read_to_end(loader, log, is_over):
        pass


def _read_to_end(loader: Loader, log: Log, is_over: Callable[[], bool]) -> bool:
    """False if an older snapshot was loaded: the caller must read again."""
    for event in log.read(loader.position):
        try:
            feed(loader, log, (event,))
        except MetalogError as fault:
            if not isinstance(event, SnapshotNeeded) or not _load_older(loader, log, event.id):
                raise
            _log.warning("%s; an older snapshot and the log were used instead", fault)
            return False
        if is_over():
            break
    return True


def _load_older(loader: Loader, log: Log, damaged: SnapshotId) -> bool:
    """Load the newest undamaged snapshot before ``damaged``, if the log has the later records."""
    start = log.bounds().start
    for older in reversed(log.snapshots()):
        if older != FORMATTED_SNAPSHOT and start <= older.end_offset < damaged.end_offset:
            with suppress(MetalogError):
                loader.load_snapshot(older, log.open_snapshot(older))
                return True
    return False

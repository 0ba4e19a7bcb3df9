"""One log and its replay, on a thread of their own.

The replica reads its log to the end, then polls it for more, and feeds the loader, which
feeds the publishers. A fault does not end it: the last good image stays in force, and
the log is read again from there after a while, longer each time up to ``MAX_BACKOFF_S``.
One that ``is_patient`` begins so too, where the log cannot be had yet.

With a ``WritableLog`` it is the log's one writer: it claims it when it starts, and what is
asked for by any thread is carried out on its own (see ``write_queue``). With a ``Candidacy`` it
follows its log until it is elected, then claims and leads it, and follows again when it is
dismissed or fenced; the images are one sequence throughout.

The publishers' gates are told how old the image is by a clock of its own (``staleness``),
counted from the log's last proof of life. Else only the replica's thread touches loader and
publishers; any thread may read the replica's attributes. This module must not know what kind
of log it has.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import Event, Thread
from types import TracebackType
from typing import Final, Self, TypeVar
from weakref import ref

from metalog.errors import (
    AuthorizerNotReady,
    CorruptLog,
    InvalidTarget,
    LogFenced,
    MetalogError,
    NotController,
    Unanswered,
    forget_frames,
)
from metalog.futures import InitialLoad
from metalog.gc_pause import resting_collector
from metalog.ids import Entropy
from metalog.image.metadata import MetadataImage
from metalog.loader import Loader, Loading, PublisherFault, Ready, Skipped, Stale, State, feed
from metalog.loader.other_kafka import ForeignTracesLog
from metalog.ports import (
    Candidacy,
    Connected,
    Gate,
    Heard,
    LiveLog,
    LoadObserver,
    Log,
    Publisher,
    UsesAclMutator,
    WritableLog,
)
from metalog.replica.catch_up import catch_up
from metalog.replica.load_gate import LoadGate
from metalog.replica.staleness import Staleness
from metalog.replica.submits import Submits
from metalog.replica.write_queue import Changes

R = TypeVar("R")

_log = logging.getLogger(__name__)

POLL_S: Final = 0.5
"""How long one poll waits, and so how long ``close`` may take."""
MIN_BACKOFF_S: Final = 0.1
MAX_BACKOFF_S: Final = 10.0
SILENT_AFTER_S: Final = 2.0
"""A log's other end is heard about twice a second; when it was not for so long it is silent."""


class Replica(Submits):
    """``with Replica(log, publishers=[…]):`` follows ``log`` until the block ends.

    A log that is no ``LiveLog`` is read once. A ``WritableLog`` is claimed at the start,
    which raises what ``claim`` raises, and closed at the end. A future of a change is done
    when the change is durable and published; its exception says that nothing is known to
    have been written. With ``idle_s`` a NoOp record is written after so many seconds
    without a change (``metadata.max.idle.interval.ms``). ``candidacy`` is for a log that it
    follows, and is closed with it. ``prepare`` is done once before anything else, and may
    raise what ``claim`` may; if it ``is_patient``, ``start`` raises neither ``CorruptLog`` nor
    ``Unanswered`` of either: both are tried again, and ``state`` has the fault meanwhile.
    """

    def __init__(
        self,
        log: Log,
        publishers: Iterable[Publisher] = (),
        *,
        tolerant: bool = False,
        monotonic_s: Callable[[], float] = time.monotonic,
        entropy: Entropy = os.urandom,
        idle_s: float | None = None,
        candidacy: Candidacy | None = None,
        prepare: Callable[[], None] = lambda: None,
        is_patient: bool = False,
    ) -> None:
        self._source = log
        self._candidacy = candidacy
        self._prepare = prepare
        self._is_patient = is_patient
        self._has_begun = False
        self._publishers = tuple(publishers)
        self._gate = LoadGate()
        self._loader = Loader((*self._publishers, self._gate), tolerant=tolerant)
        self._changes = Changes(log, self._loader) if isinstance(log, WritableLog) else None
        self._monotonic_s = monotonic_s
        super().__init__(entropy)
        self._idle_s = idle_s
        self._failing_since_s: float | None = None
        # No cycle: what resting_collector froze, references alone have to free once it is closed.
        replica = ref(self)
        self._watch = Staleness(self._loader, lambda: _failing_for_s(replica()))
        self._foreign = ForeignTracesLog()
        self._is_closing = Event()
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Claim the log if it can be written, and begin to follow it on a thread.

        Raises:
            InvalidTarget: the log is not ours to write.
            CorruptLog: the log is damaged; not if the replica ``is_patient``.
            RuntimeError: it was started before.
        """
        if self._thread is not None:
            raise RuntimeError("a replica is started only once")
        fault = None
        try:
            self._begin()
        except (CorruptLog, Unanswered) as error:
            if not self._is_patient:
                raise
            fault = self._told(error)
        run = partial(self._run, fault)
        self._thread = Thread(target=run, name="metalog-replica", daemon=True)
        self._thread.start()
        if any(isinstance(publisher, Gate) for publisher in self._publishers):
            self._watch.start()

    def close(self) -> None:
        """Stop following and wait for the thread; may be called again."""
        self._is_closing.set()
        changes = self._changes
        if changes is not None:
            changes.stop(LogFenced("the replica was closed"))
        if self._thread is not None:
            self._thread.join()
        self._note_load_fault(
            AuthorizerNotReady("the replica was closed before its log was loaded")
        )
        self._watch.close()
        if self._changes is not None:
            self._changes.close()
            self._offer(None)
        elif isinstance(self._source, Connected):
            self._source.close()
        if self._candidacy is not None:
            self._candidacy.close()
        state = self._loader.state
        forget_frames(None if isinstance(state, Ready) else state.fault)

    @property
    def loaded(self) -> InitialLoad:
        """Done once the log was replayed up to its high-water mark and published.

        ``result(timeout)`` waits so many seconds. It raises ``CorruptLog`` at once where the log
        is damaged, and ``LoadTimeout`` with the last fault when the time is over. ``fault`` is
        the last fault.
        """
        return self._gate.loaded

    def wait_until_loaded(self, timeout_s: float | None = None) -> MetadataImage:
        """Wait until the log was replayed, and return the image.

        Args:
            timeout_s: how long to wait, in seconds; None waits until it is loaded or damaged.

        Returns:
            The newest image.

        Raises:
            CorruptLog: the log is damaged: file, offset, and what to do. Raised at once.
            LoadTimeout: the time is over; the message has the last fault.
        """
        self._gate.loaded.result(timeout_s)
        return self.image

    @property
    def _writer(self) -> Changes:
        changes = self._changes
        if changes is None and self._candidacy is not None:
            raise NotController("another node is active, or none is yet")
        if changes is None:
            raise NotController("this replica only reads its log; open a log that can be written")
        return changes

    @property
    def is_active(self) -> bool:
        """Whether it takes changes just now."""
        return self._changes is not None

    def _offer(self, mutator: Replica | None) -> None:
        for publisher in self._publishers:
            if isinstance(publisher, UsesAclMutator):
                publisher.set_acl_mutator(mutator)

    @property
    def image(self) -> MetadataImage:
        """The newest image that was published; the empty one before the first."""
        return self._loader.image

    @property
    def state(self) -> State:
        """As the loader has it; ``Stale`` also where the log's other end has gone silent."""
        state, silent_s = self._loader.state, self.silent_for_s or 0.0
        if isinstance(state, Ready) and silent_s >= SILENT_AFTER_S:
            why = Unanswered(f"nothing was heard of the log for {silent_s:.0f} s")
            return Stale(state.offset, why)
        return state

    @property
    def silent_for_s(self) -> float | None:
        """Seconds since the log's other end last proved that it lives; None where it has none,
        before it first did, and while this replica writes."""
        is_other = self._changes is None and isinstance(self._source, Heard)
        return self._source.silent_for_s if is_other else None  # type: ignore[attr-defined]

    @property
    def failing_for_s(self) -> float | None:
        """For how long the image may have been older than the log, by a fault that keeps the
        replay from going on or the silence of the log's other end; None while neither is."""
        since, silent_s = self._failing_since_s, self.silent_for_s
        if silent_s is not None and silent_s < SILENT_AFTER_S:
            silent_s = None
        failing_s = None if since is None else self._monotonic_s() - since
        return max(filter(None, (failing_s, silent_s)), default=failing_s)

    @property
    def fence(self) -> Exception | None:
        """Why this replica, which writes the log, can do so no more; None where it can, and where
        another writes."""
        changes = self._changes
        return None if changes is None else changes.refusal

    @property
    def high_watermark(self) -> int | None:
        """Up to where the log is committed, as far as it was heard."""
        return self._loader.high_watermark

    @property
    def kraft_version(self) -> int:
        """The level of kraft.version that the log's control records said last."""
        return self._loader.kraft_version

    @property
    def publisher_faults(self) -> Sequence[PublisherFault]:
        """The publishers that raised, with the last error of each."""
        return self._loader.publisher_faults

    @property
    def skipped(self) -> Mapping[str, Skipped]:
        """The records that were passed over, by type."""
        return self._loader.skipped

    def _begin(self) -> None:
        if self._has_begun:
            return
        self._prepare()
        if self._changes is not None:
            self._changes.claim()
            self._offer(self)
        if self._candidacy is not None:
            self._candidacy.stand(self._step_down)
        self._has_begun = True

    def _run(self, fault: Exception | None) -> None:
        backoff, before = MIN_BACKOFF_S, self._loader.position
        while fault is not None or (fault := self._stopped_by()) is not None:
            self._loader.note_fault(fault)
            self._note_load_fault(fault)
            if self._changes is not None and isinstance(self._loader.state, (Loading, Stale)):
                self._changes.fail_waiting(self._loader.state.fault)
            if self._failing_since_s is None or self._loader.position > before:
                heard_s = self._monotonic_s() - (self.silent_for_s or 0.0)
                self._failing_since_s, backoff = heard_s, MIN_BACKOFF_S
            self._watch.look()
            self._is_closing.wait(backoff)
            backoff = min(backoff * 2, MAX_BACKOFF_S)
            fault, before = None, self._loader.position

    def _stopped_by(self) -> Exception | None:
        """Follow the log until a fault; None where it is over."""
        if self._is_closing.is_set():
            return None
        try:
            self._begin()
            self._follow()
        except Exception as fault:
            return self._told(fault)
        return None

    def _note_load_fault(self, fault: Exception) -> None:
        """Tell the gates, and so whoever waits for them, why they are still shut."""
        if isinstance(self._loader.state, Loading):
            for each in (*self._publishers, self._gate):
                if isinstance(each, LoadObserver):
                    each.note_load_fault(fault)

    def _told(self, fault: Exception) -> Exception:
        what = "replay stopped" if self._has_begun else "replay cannot begin"
        if isinstance(fault, (MetalogError, OSError)):
            _log.warning("%s, and is tried again soon: %s", what, fault)
        else:
            _log.error("%s by a fault of its own, and is tried again soon", what, exc_info=fault)
        forget_frames(fault)
        return fault

    def _follow(self) -> None:
        """Read the log to its end, then follow it; returns when closed or at the end of a
        log that is not live."""
        log = self._source
        with resting_collector():
            catch_up(self._loader, self._source, self._is_closing.is_set)
        self._foreign.say(self._loader)
        if isinstance(self._loader.state, Ready):
            self._failing_since_s = None
        if self._is_closing.is_set():
            return
        if self._changes is not None:
            self._changes.activate()
            while not self._is_closing.is_set():
                self._changes.carry_out_next(self._idle_s)
        elif isinstance(log, LiveLog):
            while not self._is_closing.is_set():
                feed(self._loader, log, log.poll(POLL_S))
                self._foreign.say(self._loader)
                if self._candidacy is not None and self._candidacy.is_elected:
                    self._lead(self._candidacy)
                    catch_up(self._loader, self._source, self._is_closing.is_set)

    def _lead(self, candidacy: Candidacy) -> None:
        """Claim the log, and carry out changes until another one is elected or has claimed it."""
        log = candidacy.writer()
        changes = Changes(log, self._loader)
        try:
            changes.claim()
            feed(self._loader, log, log.read(self._loader.position))
            changes.activate(candidacy.first_words())
            self._changes = changes
            self._offer(self)
            _log.info("this node is active from offset %s on", self._loader.position)
            while candidacy.is_elected and not (changes.is_over or self._is_closing.is_set()):
                changes.carry_out_next(self._idle_s)
        except (InvalidTarget, NotController) as fault:
            _log.warning("this node cannot be active: %s", fault)
        finally:
            self._changes = None
            self._offer(None)
            changes.stop(_no_longer_active())
            changes.close()
            if candidacy.is_elected and not self._is_closing.is_set():
                candidacy.resign()
        _log.info("this node is not active and follows the log")

    def _step_down(self) -> None:
        changes = self._changes
        if changes is not None:
            changes.stop(_no_longer_active())


def _no_longer_active() -> NotController:
    return NotController("this node is no longer active; ask the one that is")


def _failing_for_s(replica: Replica | None) -> float | None:
    return None if replica is None else replica.failing_for_s

"""One log and its replay, on a thread of their own: what programs use.

``LogFollower`` reads the log and feeds the loader, which feeds the publishers. ``LogLeader``
writes it: a ``WritableLog`` from the start, any other log after its ``Candidacy`` was elected.
The images are one sequence throughout. This class starts and ends both, and shows their state.

The publishers' gates learn how old the image is from a clock of its own (``staleness``),
counted from the log's last proof of life. Else only the replica's thread touches loader and
publishers; any thread may read the replica's attributes. This module must not know what kind
of log it has.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import Thread
from types import TracebackType
from typing import Self

from metalog.errors import AuthorizerNotReady, CorruptLog, Unanswered, forget_frames
from metalog.futures import InitialLoad
from metalog.ids import Entropy
from metalog.image.metadata import MetadataImage
from metalog.loader import Loader, PublisherFault, Ready, Skipped, State
from metalog.ports import (
    Candidacy,
    Connected,
    Gate,
    LoadObserver,
    Log,
    Publisher,
)
from metalog.replica.load_gate import LoadGate
from metalog.replica.log_follower import LogFollower
from metalog.replica.log_leader import LogLeader
from metalog.replica.submits import Submits
from metalog.replica.write_queue import WriteQueue


class Replica(Submits):
    """``with Replica(log, publishers=[…]):`` follows ``log`` until the block ends.

    A log that is not a ``LiveLog`` is read once. A ``WritableLog`` is claimed at the start,
    which raises what ``claim`` raises, and closed at the end. A future of a change is done
    when the change is durable and published; its exception says that nothing is known to
    have been written. With ``idle_s`` a NoOp record is written after so many seconds
    without a change (``metadata.max.idle.interval.ms``). ``candidacy`` is for a log that it
    follows, and is closed with it. ``prepare`` is done once before anything else, and may
    raise what ``claim`` may; if it ``is_patient``, ``start`` raises neither ``CorruptLog`` nor
    ``Unanswered`` of either: both are tried again, and ``state`` has the fault meanwhile.
    It stands for the version ``kafka`` of Kafka, such as ``4.4``: ACLs are accepted and refused
    as by this one, and a log that it does not load is refused (``loaded`` raises
    ``ConfigException``). Without it, the log's metadata.version makes one likely.
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
        kafka: str | None = None,
    ) -> None:
        self._source = log
        self._is_patient = is_patient
        publishers = tuple(publishers)
        self._gate = LoadGate()
        observed = (*publishers, self._gate)
        self._has_gates = any(isinstance(each, Gate) for each in publishers)
        self._loader = Loader(observed, tolerant=tolerant, kafka=kafka)
        super().__init__(entropy, kafka)
        self._leader = LogLeader(log, self._loader, publishers, candidacy, idle_s, entropy, kafka)
        observers = [each for each in observed if isinstance(each, LoadObserver)]
        self._follower = LogFollower(
            log, self._loader, self._leader, prepare, observers, monotonic_s
        )
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
            self._follower.begin()
        except (CorruptLog, Unanswered) as error:
            if not self._is_patient:
                raise
            fault = self._follower.report(error)
        run = partial(self._follower.run, fault)
        self._thread = Thread(target=run, name="metalog-replica", daemon=True)
        self._thread.start()
        if self._has_gates:
            self._follower.staleness.start()

    def close(self) -> None:
        """Stop following and wait for the thread; may be called again."""
        self._follower.stop()
        self._leader.stop()
        if self._thread is not None:
            self._thread.join()
        self._follower.note_load_fault(
            AuthorizerNotReady("the replica was closed before its log was loaded")
        )
        self._follower.staleness.close()
        self._leader.close()
        if not self._leader.is_sole_writer and isinstance(self._source, Connected):
            self._source.close()
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
    def _writer(self) -> WriteQueue:
        return self._leader.active_queue()

    @property
    def is_active(self) -> bool:
        """Whether it takes changes just now."""
        return self._leader.is_active

    @property
    def image(self) -> MetadataImage:
        """The newest image that was published; the empty one before the first."""
        return self._loader.image

    @property
    def state(self) -> State:
        """As the loader has it; ``Stale`` also where the log's other end has gone silent."""
        return self._follower.state

    @property
    def silent_for_s(self) -> float | None:
        """Seconds since the log's other end last proved that it lives; None where it has none,
        before the first proof, and while this replica writes."""
        return self._follower.silent_for_s

    @property
    def failing_for_s(self) -> float | None:
        """Seconds for which the image may have been older than the log, by a fault of the replay
        or by the silence of the log's other end; None while neither is."""
        return self._follower.failing_for_s

    @property
    def fence(self) -> Exception | None:
        """Why this replica, which writes the log, can do so no more; None where it can, and where
        another writes."""
        return self._leader.fence

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

"""``Replica``, for embedding programs, follows one log on its own thread, and can write the log.

``LogFollower`` reads the log, and ``LogLeader`` writes the log. Any thread may read the replica's
attributes. This module must not know the kind of log.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import Thread
from typing import Self

from metalog.errors import AuthorizerNotReady, CorruptLog, Unanswered, forget_frames
from metalog.futures import InitialLoad
from metalog.ids import Entropy
from metalog.image.metadata import MetadataImage
from metalog.loader import Loader, PublisherFault, Ready, Skipped, State
from metalog.loader.replay import NoteRecords
from metalog.ports import Candidacy, ClosableLog, Gate, LoadObserver, Log, Publisher
from metalog.replica.load_gate import LoadGate
from metalog.replica.log_follower import LogFollower
from metalog.replica.log_leader import LogLeader
from metalog.replica.submits import ChangeSubmitter
from metalog.replica.write_queue import WriteQueue


class Replica(ChangeSubmitter):
    """``with Replica(log, publishers=[…]):`` follows ``log`` until the block ends.

    A log that is not a ``LiveLog`` is read once. A ``WritableLog`` is claimed at the start and
    closed at the end.

    Args:
        log: the log to follow; a ``WritableLog`` is also written.
        publishers: receive each new image, in order.
        tolerant: do not stop at faulty records that concern authorization.
        monotonic_s: a clock, in seconds.
        entropy: a source of random bytes.
        idle_s: write a NoOp record after this many seconds without a change
            (``metadata.max.idle.interval.ms``).
        candidacy: takes part in elections for the log; ``close`` closes the candidacy.
        prepare: called before each attempt to start; may raise the errors of ``claim``.
        is_patient: after a ``CorruptLog`` or ``Unanswered``, ``start`` does not raise the error.
            The replica tries again, and ``state`` has the error until a retry succeeds.
        kafka: the version of Kafka whose rules for ACLs apply, such as ``4.4``. If this version
            cannot load the log, ``loaded.result`` raises ``ConfigException``. None derives the
            version from the log's metadata.version.
        note_records: called for each replayed batch (``Loader``). After a fault, some batches are
            replayed again.

    Raises:
        ConfigException: ``kafka`` is not a supported version.
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
        note_records: NoteRecords | None = None,
    ) -> None:
        self._source = log
        self._is_patient = is_patient
        publishers = tuple(publishers)
        self._gate = LoadGate()
        observed = (*publishers, self._gate)
        self._has_gates = any(isinstance(each, Gate) for each in publishers)
        self._loader = Loader(observed, tolerant=tolerant, kafka=kafka, note_records=note_records)
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

    def __exit__(self, *exception: object) -> None:
        self.close()

    def start(self) -> None:
        """Claim a ``WritableLog``, and begin to follow the log on a thread.

        Raises:
            InvalidTarget: this process cannot write the log.
            CorruptLog: the log is damaged, and ``is_patient`` is false.
            Unanswered: the log's cluster does not answer, and ``is_patient`` is false.
            RuntimeError: the replica was started before.
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
        """Stop, and wait for the thread. A caller may repeat the call."""
        self._follower.stop()
        self._leader.stop()
        if self._thread is not None:
            self._thread.join()
        self._follower.note_load_fault(
            AuthorizerNotReady("the replica was closed before its log was loaded")
        )
        self._follower.staleness.close()
        self._leader.close()
        if not self._leader.has_writable_log and isinstance(self._source, ClosableLog):
            self._source.close()
        state = self._loader.state
        forget_frames(None if isinstance(state, Ready) else state.fault)

    @property
    def loaded(self) -> InitialLoad:
        """A future that completes when the image at the log's high-water mark is published.

        ``result(timeout)`` raises the errors of ``wait_until_loaded``. ``fault`` is the last fault.
        """
        return self._gate.loaded

    def wait_until_loaded(self, timeout_s: float | None = None) -> MetadataImage:
        """Wait until the log is replayed, and return the newest image.

        Args:
            timeout_s: how long to wait, in seconds; None has no limit.

        Raises:
            CorruptLog: the log is damaged; raised at once.
            LoadTimeout: the timeout passed; the message has the last fault.
            AuthorizerNotReady: the replica was closed before its log was loaded.
            ConfigException: a setting, such as ``kafka``, does not fit the log.
        """
        self._gate.loaded.result(timeout_s)
        return self.image

    @property
    def _writer(self) -> WriteQueue:
        return self._leader.active_queue()

    @property
    def is_active(self) -> bool:
        """Whether this replica has claimed the log as its writer."""
        return self._leader.is_active

    @property
    def image(self) -> MetadataImage:
        """The newest published image; empty before the first publication."""
        return self._loader.image

    @property
    def state(self) -> State:
        """The loader's state; ``Stale`` replaces ``Ready`` while the log's server is silent."""
        return self._follower.state

    @property
    def silent_for_s(self) -> float | None:
        """Seconds since the last answer of the server that sends the log.

        None for a local log, before the first answer, and while this replica is the writer.
        """
        return self._follower.silent_for_s

    @property
    def failing_for_s(self) -> float | None:
        """How long the image has perhaps been older than the log, in seconds.

        The cause is a fault of the replay or a silent server. None without such a cause.
        """
        return self._follower.failing_for_s

    @property
    def fence(self) -> Exception | None:
        """Why this replica, as the log's writer, accepts no more changes; else None."""
        return self._leader.fence

    @property
    def high_watermark(self) -> int | None:
        """The last high-water mark that the log reported, or None."""
        return self._loader.high_watermark

    @property
    def kraft_version(self) -> int:
        """The level of kraft.version in the log's last KRAFT_VERSION record; 0 if there is none."""
        return self._loader.kraft_version

    @property
    def publisher_faults(self) -> Sequence[PublisherFault]:
        """The last exception of each publisher that raised one."""
        return self._loader.publisher_faults

    @property
    def skipped(self) -> Mapping[str, Skipped]:
        """The skipped records, by type; missing records are one more type."""
        return self._loader.skipped

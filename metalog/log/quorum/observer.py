"""Follows the log of a live KRaft quorum as a read-only observer.

Requests have no replica id, so they do not change the quorum. ``read`` stops at the high-water
mark. ``poll`` also returns uncommitted batches, and a ``Truncated`` event when they are lost. This
module must not apply any record.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from metalog.errors import CorruptLog, InvalidSource
from metalog.hosts.host_port import Address, parse_addresses
from metalog.ids import SnapshotId
from metalog.image.state.features import METADATA_VERSION
from metalog.log.contact import Contact
from metalog.log.folder.commit import Proven
from metalog.log.quorum.controller_connection import ControllerConnection
from metalog.log.quorum.observer_state import (
    INCONSISTENT_CLUSTER_ID,
    Follower,
    FollowVerdict,
    refused,
)
from metalog.log.quorum.snapshot_download import Download
from metalog.ports import Appended, HighWatermark, LogBounds, LogEvent, Split, Truncated
from metalog.records.batch import Batch
from metalog.wire.client.connection import Connection, Unreachable
from metalog.wire.client.security import PLAINTEXT, ClientSettings
from metalog.wire.fetch import (
    FETCH,
    FETCH_SNAPSHOT,
    FETCH_VERSIONS,
    SNAPSHOT_VERSIONS,
    Chunk,
    EpochLeader,
    Fetched,
    FetchPosition,
    fetch_request,
    read_chunk,
    read_fetched,
    snapshot_request,
)
from metalog.wire.schema import Body

SCHEME: Final = "quorum://"
PATIENCE_S: Final = 10.0
"""Seconds without a leader before an error: enough for several elections."""

NOBODY_LEADS: Final = "no controller leads the quorum; are most controllers running?"
_NOTHING_COMMITTED: Final = "its leader has committed nothing yet; are most controllers running?"

_PAUSE_S: Final = 0.1
_READ_WAIT_S: Final = 0.5


class LeaderState(NamedTuple):
    start: int
    high_watermark: int
    snapshot: SnapshotId | None
    leader: EpochLeader


class QuorumLog:
    """The log of a running KRaft quorum, read from its controllers; ``open_log`` opens it.

    ``bootstrap`` is HOST:PORT[,HOST:PORT] of controllers; at least one must be running. The
    constructor does not connect. Methods raise ``InvalidSource`` if no controller answers or leads,
    or if a controller refuses an observer. A later call tries again.

    Controllers send the cluster's id only to principals with ALTER on the cluster, and log each
    refusal. So the id is requested only when ``cluster_id`` is read or, with ``identifies``, at
    the first connection.
    """

    def __init__(
        self, bootstrap: str, settings: ClientSettings = PLAINTEXT, *, identifies: bool = False
    ) -> None:
        self.path = SCHEME + bootstrap
        self._follower = Follower(parse_addresses(bootstrap))
        self._controller = ControllerConnection(
            self.path, self._follower, settings, identifies=identifies
        )
        self._state: LeaderState | None = None
        self._pending: deque[LogEvent] = deque()
        self._contact = Contact()
        self._failing_since_s: float | None = None
        self._trouble = NOBODY_LEADS

    def use(self, settings: ClientSettings) -> None:
        """Use ``settings`` for new connections."""
        self._controller.settings = settings

    @property
    def caller(self) -> str | None:
        """The principal of the SASL login, by Kafka's default rule; None without a SASL login."""
        return self._controller.settings.security.user

    @property
    def damage(self) -> CorruptLog | None:
        """None: damage is found when a batch is read."""
        return None

    @property
    def missing(self) -> CorruptLog | None:
        """None: a reader of a quorum cannot know whether records at the log's end were lost."""
        return None

    @property
    def problems(self) -> tuple[str, ...]:
        """A line for each key of the client's configuration that this client does not use."""
        return tuple(f"{self.path}: {note}" for note in self._controller.settings.notes)

    @property
    def proven(self) -> Proven:
        """The offset up to which the log is committed, and the reason."""
        bounds = self.bounds()
        return Proven(bounds.end, bounds.why)

    @property
    def leader(self) -> EpochLeader:
        """The quorum's leader and its epoch. The answer is kept until ``refresh``."""
        return self._leader_state().leader

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id, from the controllers or ``expect_cluster``; None if unknown."""
        self._leader_state()
        return self._controller.ask_id()

    def supported_level(self) -> int | None:
        """The newest metadata.version that the leader supports, if the leader announces one."""
        self._leader_state()
        supported = self._controller.features.get(METADATA_VERSION)
        return None if supported is None else supported.most

    def check_cluster(self, connection: Connection, timeout_s: float) -> None:
        """Raise ``InvalidSource`` if ``connection`` leads to a controller of another cluster.

        Checks nothing while the cluster's id is unknown. The request gets no records: its last
        epoch is invalid.
        """
        cluster_id = self.known_cluster_id
        if cluster_id is None:
            return
        request = fetch_request(
            connection.version(FETCH, FETCH_VERSIONS),
            FetchPosition(0, -1, 0, -1),
            cluster_id=cluster_id,
            wait_s=0.0,
        )
        code = read_fetched(connection.ask(request, timeout_s)).code
        if code == INCONSISTENT_CLUSTER_ID:
            raise InvalidSource(refused(connection.address, code))

    def expect_cluster(self, cluster_id: str) -> None:
        """Send ``cluster_id`` in later requests, until the controllers send their own id.

        Kafka refuses a request with another cluster's id.
        """
        self._controller.cluster_id = cluster_id

    @property
    def known_cluster_id(self) -> str | None:
        """``cluster_id``, if known without a request. Any thread may read this property."""
        return self._controller.cluster_id

    @property
    def silent_for_s(self) -> float | None:
        """Seconds since the last answer of a leader that knows the high-water mark."""
        return self._contact.silent_for_s

    def bootstrap(self) -> Iterator[Batch] | None:
        """None: a quorum does not send ``bootstrap.checkpoint``."""
        return None

    def bounds(self) -> LogBounds:
        """The log's start, its end (the high-water mark), and the leader's epoch."""
        start, mark, _, leader = self._leader_state()
        why = f"the high-water mark of node {leader.id}, the leader in epoch {leader.epoch}"
        return LogBounds(start, mark, leader.epoch, mark, why)

    def refresh(self) -> None:
        """Forget the end of the log, so that the next call asks the leader."""
        self._state = None

    def read(self, start: int) -> Iterator[LogEvent]:
        """The events from offset ``start`` up to the current end of the log."""
        self.refresh()
        end = self.bounds().end
        self._pending.clear()
        self._resume(start)
        while True:
            if not self._pending:
                if self._follower.position >= end:
                    return
                self._pending += self._advance(_READ_WAIT_S)
                continue
            event = self._pending[0]
            if isinstance(event, Appended) and event.batch.base_offset >= end:
                return
            yield self._pending.popleft()
            if isinstance(event, Truncated):
                return
            if isinstance(event, HighWatermark):
                end = min(end, event.offset)

    def _resume(self, start: int) -> None:
        """Read from ``start`` on; ``Truncated`` is pending if the record before it is another one.

        To an old epoch, Kafka sends only a snapshot, even if it has the records. So below the
        newest snapshot, this method compares the previous record's epoch, and Kafka does not.
        """
        follower, state = self._follower, self._leader_state()
        if state.snapshot is None or not state.start < start < state.snapshot.end_offset:
            follower.resume(start)
            return
        before = follower.epoch_before(start)
        if before is None:
            follower.seek(start)
            return
        follower.seek(start - 1)
        events: Sequence[LogEvent] = ()
        while all(isinstance(event, HighWatermark) for event in events):
            events = self._advance(_READ_WAIT_S)
        first = next(event for event in events if not isinstance(event, HighWatermark))
        if not isinstance(first, Appended):
            self._pending += events
        elif first.batch.epoch == before:
            follower.seek(start)
        else:
            follower.seek(start - 1)
            self._pending.append(Truncated(start - 1))

    def poll(self, timeout_s: float) -> Sequence[LogEvent]:
        """The events after the last poll or read; empty if none comes in ``timeout_s`` seconds."""
        deadline = time.monotonic() + timeout_s
        while not self._pending:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            self._pending += self._advance(left)
        news = tuple(self._pending)
        self._pending.clear()
        return news

    def splits(self) -> Sequence[Split]:
        """Empty: a quorum's log cannot be split."""
        return ()

    def snapshots(self) -> Sequence[SnapshotId]:
        """The newest snapshot, if the leader names one."""
        snapshot = self._leader_state().snapshot
        return () if snapshot is None else (snapshot,)

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]:
        """All batches of the snapshot ``id``. The caller checks header and footer."""
        self._leader_state()
        download = Download(id, self.path)
        while not download.is_done:
            try:
                chunk = self._chunk(download)
            except Unreachable as error:
                raise InvalidSource(f"{self.path}: {error}") from None
            yield from download.take(chunk)

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        self._controller.close()

    def _leader_state(self) -> LeaderState:
        """The state of the leader's log, from the leader's answer to a fetch of offset 0."""
        while self._state is None:
            answer = self._ask_leader(FetchPosition(0, 0, self._follower.leader.epoch, -1), 0.0)
            if answer is None:
                continue
            _, fetched = answer
            start, mark = max(fetched.log_start, 0), fetched.high_watermark
            if mark >= 0:
                self._state = LeaderState(start, mark, fetched.snapshot, self._follower.leader)
            else:
                self._pause_or_raise(_NOTHING_COMMITTED)
        return self._state

    def _advance(self, wait_s: float) -> Sequence[LogEvent]:
        """The events from one request; empty without news, or if another node must be asked."""
        answer = self._ask_leader(self._follower.fetch_position, wait_s)
        if answer is None:
            return ()
        if answer[1].high_watermark < 0:
            self._pause_or_raise(_NOTHING_COMMITTED)
        return self._follower.read(*answer)

    def _ask_leader(self, position: FetchPosition, wait_s: float) -> tuple[Address, Fetched] | None:
        """The leader's address and its answer; None if another node must be asked."""
        if not self._controller.was_connected:
            self._controller.connect_to_any()
        controller = self._follower.target
        try:
            fetched = self._fetched(controller, position, wait_s)
        except Unreachable as error:
            verdict, self._trouble = self._controller.after_loss(controller, str(error))
        else:
            verdict = self._verdict_on(controller, fetched)
        if verdict is FollowVerdict.LEADS:
            if fetched.high_watermark >= 0:
                self._failing_since_s = None
                self._contact.heard()
            return controller, fetched
        if verdict is FollowVerdict.PAUSE:
            self._pause_or_raise(self._trouble)
        return None

    def _verdict_on(self, controller: Address, fetched: Fetched) -> FollowVerdict:
        try:
            verdict = self._follower.handle_response(controller, fetched)
        except InvalidSource as error:
            self.close()
            raise InvalidSource(f"{self.path}: {error}") from None
        if verdict is not FollowVerdict.LEADS:
            self._trouble = NOBODY_LEADS
        return verdict

    def _pause_or_raise(self, trouble: str) -> None:
        now_s = time.monotonic()
        self._failing_since_s = self._failing_since_s or now_s
        if not self._controller.was_connected or now_s - self._failing_since_s > PATIENCE_S:
            self._follower.forget_leader()
            raise InvalidSource(f"{self.path}: {trouble}")
        time.sleep(_PAUSE_S)

    def _fetched(self, controller: Address, position: FetchPosition, wait_s: float) -> Fetched:
        def request(version: int) -> Body:
            cluster_id = self._controller.cluster_id
            return fetch_request(version, position, cluster_id=cluster_id, wait_s=wait_s)

        return read_fetched(
            self._controller.ask(controller, FETCH, FETCH_VERSIONS, request, wait_s)
        )

    def _chunk(self, download: Download) -> Chunk:
        def request(version: int) -> Body:
            return snapshot_request(
                version,
                download.id,
                download.position,
                leader_epoch=self._follower.leader.epoch,
                cluster_id=self._controller.cluster_id,
            )

        controller = self._follower.target
        body = self._controller.ask(controller, FETCH_SNAPSHOT, SNAPSHOT_VERSIONS, request, 0.0)
        return read_chunk(body)

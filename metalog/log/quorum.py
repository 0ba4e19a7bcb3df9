"""The log of a live KRaft quorum, followed as a read-only observer.

What to ask is decided by ``Follower``; this is its socket: one connection, to whoever leads.
Nothing that it sends changes anything at the quorum, which does not even know it by a number.
``read`` stops at the high-water mark. ``poll`` also yields uncommitted batches, and a
``Truncated`` event when they are lost. This module must not apply any record.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from metalog.errors import CorruptLog, ErrorCode, InvalidRequest, InvalidSource
from metalog.ids import SnapshotId
from metalog.log.commit import Proven
from metalog.log.contact import Contact
from metalog.log.download import Download
from metalog.log.following import Follower, Verdict
from metalog.ports import Appended, LogBounds, LogEvent, Split, Truncated
from metalog.records.batch import Batch
from metalog.wire.bootstrap import first_connection
from metalog.wire.client import Connection, Unreachable
from metalog.wire.fetch import (
    FETCH,
    FETCH_SNAPSHOT,
    FETCH_VERSIONS,
    SNAPSHOT_VERSIONS,
    Chunk,
    Fetched,
    Leader,
    Place,
    fetch_request,
    read_chunk,
    read_fetched,
    snapshot_request,
)
from metalog.wire.frames import Malformed
from metalog.wire.hosts import Address, parse_addresses
from metalog.wire.sasl import AuthenticationFailed
from metalog.wire.schema import Body, request_type
from metalog.wire.security import PLAINTEXT, ClientSettings
from metalog.wire.versions import NotSpoken

SCHEME: Final = "quorum://"
PATIENCE_S: Final = 10.0
"""How long a quorum may be without a leader before that is a fault: some elections long."""

NOBODY_LEADS: Final = "no controller leads the quorum; are most of them running?"

_PAUSE_S: Final = 0.1
_READ_WAIT_S: Final = 0.5
DESCRIBE_CLUSTER: Final = 60
_DESCRIBE_VERSIONS: Final = (1,)
_CONTROLLERS: Final = 2


class Survey(NamedTuple):
    """What the leader said of its log when it was last asked."""

    start: int
    high_watermark: int
    snapshot: SnapshotId | None
    leader: Leader


class QuorumLog:
    """``bootstrap`` is HOST:PORT[,HOST:PORT] of controllers; any one that runs is enough.

    Opening connects to nobody. Raises ``InvalidSource`` where no controller can be reached or
    leads, or where it may not be followed; reading again goes on with the next controller.

    The cluster's id is asked for when it is read first, or with ``identifies`` by the first
    connection: controllers tell it only to who may ALTER the cluster, and log a refusal.
    """

    def __init__(
        self, bootstrap: str, settings: ClientSettings = PLAINTEXT, *, identifies: bool = False
    ) -> None:
        self.path = SCHEME + bootstrap
        self._settings = settings
        self._follower = Follower(parse_addresses(bootstrap))
        self._connection: Connection | None = None
        self._survey: Survey | None = None
        self._cluster_id: str | None = None
        self._asks_id = identifies
        self._pending: deque[LogEvent] = deque()
        self._was_connected = False
        self._contact = Contact()
        self._failing_since_s: float | None = None
        self._trouble = NOBODY_LEADS

    @property
    def damage(self) -> CorruptLog | None:
        """None: what is wrong with a batch is found when it is read."""
        return None

    @property
    def missing(self) -> CorruptLog | None:
        """None: whether records are gone from its end is not known here."""
        return None

    @property
    def problems(self) -> tuple[str, ...]:
        """A line for each client key that is not used."""
        return tuple(f"{self.path}: {note}" for note in self._settings.notes)

    @property
    def proven(self) -> Proven:
        """Up to which offset the log is committed, and why that is known."""
        bounds = self.bounds()
        return Proven(bounds.end, bounds.why)

    @property
    def leader(self) -> Leader:
        """The node that leads the quorum, and its epoch; asks, where it is not known."""
        return self._surveyed().leader

    @property
    def cluster_id(self) -> str | None:
        """None where the controllers do not tell it: that needs ALTER on the cluster."""
        self._surveyed()
        if self._cluster_id is None and not self._asks_id:
            self._asks_id = True
            self._cluster_id = self._told_id()
        return self._cluster_id

    def _told_id(self) -> str | None:
        asked = self._follower.target
        with self._failing_as_source(asked):
            try:
                return _cluster_of(self._connected(asked))
            except Unreachable as error:
                self.close()
                raise InvalidSource(f"{self.path}: {error}") from None

    def expect_cluster(self, cluster_id: str) -> None:
        """Follow only the cluster with this id, for controllers that do not tell theirs: Kafka
        refuses to be asked for another one's log."""
        self._cluster_id = cluster_id

    @property
    def known_cluster_id(self) -> str | None:
        """What ``cluster_id`` is as far as it was heard of; asks nobody, so any thread may."""
        return self._cluster_id

    @property
    def silent_for_s(self) -> float | None:
        """Since a leader last answered that knows what is committed."""
        return self._contact.silent_for_s

    def bootstrap(self) -> Iterator[Batch] | None:
        """None: what a log without records begins with is not known here."""
        return None

    def bounds(self) -> LogBounds:
        """Where the log begins and ends, its last epoch, and its high-water mark if it is known."""
        start, mark, _, leader = self._surveyed()
        why = f"the high-water mark of node {leader.id}, the leader in epoch {leader.epoch}"
        return LogBounds(start, mark, leader.epoch, mark, why)

    def refresh(self) -> None:
        """Asks the leader again how far the log goes."""
        self._survey = None

    def read(self, start: int) -> Iterator[LogEvent]:
        """Events from offset ``start``, or from the batch that holds it, up to the end of now."""
        self.refresh()
        end = self.bounds().end
        self._follower.seek(start)
        self._pending.clear()
        while True:
            if not self._pending:
                if self._follower.position >= end:
                    return
                self._pending += self._advance(_READ_WAIT_S)
            elif _is_above(self._pending[0], end):
                return
            else:
                event = self._pending.popleft()
                yield event
                if isinstance(event, Truncated):
                    return

    def poll(self, timeout_s: float) -> Sequence[LogEvent]:
        """The events since the last poll or read; empty after ``timeout_s`` seconds without any."""
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
        """Parts that can be read on their own, in order; none where it cannot be split."""
        return ()

    def snapshots(self) -> Sequence[SnapshotId]:
        """The newest, which is the only one that a leader tells of."""
        snapshot = self._surveyed().snapshot
        return () if snapshot is None else (snapshot,)

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]:
        """The batches of the snapshot ``id``, its header and footer included, unchecked."""
        self._surveyed()
        download = Download(id, self.path)
        while not download.is_done:
            try:
                chunk = self._chunk(download)
            except Unreachable as error:
                raise InvalidSource(f"{self.path}: {error}") from None
            yield from download.take(chunk)

    def close(self) -> None:
        """Let go of the connection; the next call makes another."""
        held, self._connection = self._connection, None
        if held is not None:
            held.close()

    def _surveyed(self) -> Survey:
        """Asked for offset 0, a leader tells where its log begins and of its snapshot."""
        while self._survey is None:
            answer = self._ask_leader(Place(0, 0, self._follower.leader.epoch, -1), 0.0)
            if answer is None:
                continue
            _, fetched = answer
            start, mark = max(fetched.log_start, 0), fetched.high_watermark
            if mark >= 0:
                self._survey = Survey(start, mark, fetched.snapshot, self._follower.leader)
            else:
                self._pause("its leader has committed nothing yet; are most controllers running?")
        return self._survey

    def _advance(self, wait_s: float) -> Sequence[LogEvent]:
        """What one question brings: nothing where the wrong one was asked, or where there was no
        news within ``wait_s``."""
        answer = self._ask_leader(self._follower.place, wait_s)
        return () if answer is None else self._follower.read(*answer)

    def _ask_leader(self, place: Place, wait_s: float) -> tuple[Address, Fetched] | None:
        """Who leads, and its answer; None where another is to be asked."""
        if not self._was_connected:
            self._meet()
        asked = self._follower.target
        try:
            fetched = self._fetched(asked, place, wait_s)
        except Unreachable as error:
            self._trouble = str(error)
            verdict = self._after_loss(asked)
        else:
            verdict = self._judged(asked, fetched)
        if verdict is Verdict.LEADS:
            if fetched.high_watermark >= 0:
                self._failing_since_s = None
                self._contact.heard()
            return asked, fetched
        if verdict is Verdict.PAUSE:
            self._pause(self._trouble)
        return None

    def _judged(self, asked: Address, fetched: Fetched) -> Verdict:
        try:
            verdict = self._follower.judge(asked, fetched)
        except InvalidSource as error:
            self.close()
            raise InvalidSource(f"{self.path}: {error}") from None
        if verdict is not Verdict.LEADS:
            self._trouble = NOBODY_LEADS
        return verdict

    def _pause(self, trouble: str) -> None:
        """Raise what troubles us where it lasts, or where no controller was ever there."""
        now_s = time.monotonic()
        self._failing_since_s = self._failing_since_s or now_s
        if not self._was_connected or now_s - self._failing_since_s > PATIENCE_S:
            self._follower.forget_leader()
            raise InvalidSource(f"{self.path}: {trouble}")
        time.sleep(_PAUSE_S)

    def _fetched(self, asked: Address, place: Place, wait_s: float) -> Fetched:
        def request(version: int) -> Body:
            return fetch_request(version, place, cluster_id=self._cluster_id, wait_s=wait_s)

        return read_fetched(self._ask(asked, FETCH, FETCH_VERSIONS, request, wait_s))

    def _chunk(self, download: Download) -> Chunk:
        def request(version: int) -> Body:
            return snapshot_request(
                version,
                download.id,
                download.position,
                leader_epoch=self._follower.leader.epoch,
                cluster_id=self._cluster_id,
            )

        asked = self._follower.target
        return read_chunk(self._ask(asked, FETCH_SNAPSHOT, SNAPSHOT_VERSIONS, request, 0.0))

    def _ask(
        self,
        asked: Address,
        api_key: int,
        versions: Iterable[int],
        request: Callable[[int], Body],
        wait_s: float,
    ) -> Body:
        """The answer; ``Unreachable`` where there is none, ``InvalidSource`` where there will be
        none."""
        with self._failing_as_source(asked):
            try:
                connection = self._connected(asked)
                body = request(connection.version(api_key, versions))
                return connection.ask(body, wait_s + self._settings.request_timeout_s)
            except Unreachable:
                self.close()
                raise

    @contextmanager
    def _failing_as_source(self, asked: Address) -> Iterator[None]:
        try:
            yield
        except (AuthenticationFailed, Malformed, NotSpoken) as error:
            self.close()
            self._follower.no_answer(asked)
            raise InvalidSource(f"{self.path}: {error}") from None

    def _after_loss(self, asked: Address) -> Verdict:
        """Go on with the first of the other controllers that takes a connection: in turn, each
        silent one would take the time of a connection."""
        verdict = self._follower.no_answer(asked)
        others = [each for each in self._follower.controllers if each != asked]
        if verdict is Verdict.PAUSE or not others:
            return verdict
        with self._failing_as_source(asked):
            try:
                met = first_connection(others, self._settings, check=_refuse_a_broker)
            except Unreachable as error:
                self._trouble = f"{self._trouble}; {error}"
                return self._follower.nobody_answers()
            self._follower.begin_with(met.address)
            self._take(met)
        return verdict

    def _meet(self) -> None:
        """Connect to the first controller that takes a connection."""
        try:
            met = first_connection(
                self._follower.controllers, self._settings, check=_refuse_a_broker
            )
            self._follower.begin_with(met.address)
            self._take(met)
        except InvalidRequest as error:
            raise InvalidSource(f"{self.path}: {error}") from None

    def _connected(self, address: Address) -> Connection:
        held = self._connection
        if held is not None and held.address == address:
            return held
        self.close()
        return self._take(Connection(address, self._settings))

    def _take(self, connection: Connection) -> Connection:
        self._connection = connection
        _refuse_a_broker(connection)
        if not self._was_connected and self._asks_id:
            self._cluster_id = _cluster_of(connection) or self._cluster_id
        self._was_connected = True
        return connection


def _refuse_a_broker(connection: Connection) -> None:
    if FETCH_SNAPSHOT not in connection.versions:
        raise NotSpoken(
            f"{connection.address} is a broker's listener; give a controller's, as in "
            "controller.quorum.bootstrap.servers"
        )


def _cluster_of(connection: Connection) -> str | None:
    """Sent along from then on, so that another cluster on an old address is found out."""
    try:
        version = connection.version(DESCRIBE_CLUSTER, _DESCRIBE_VERSIONS)
    except NotSpoken:
        return None
    described = connection.ask(
        request_type(DESCRIBE_CLUSTER, version)(
            include_cluster_authorized_operations=False, endpoint_type=_CONTROLLERS
        )
    )
    return described.cluster_id if described.error_code == ErrorCode.NONE else None


def _is_above(event: LogEvent, end: int) -> bool:
    return isinstance(event, Appended) and event.batch.base_offset >= end

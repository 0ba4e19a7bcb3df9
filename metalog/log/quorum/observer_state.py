"""The state of a KIP-595 observer: answers in, log events and the next request out.

To find the leader, the observer asks the listed controllers in turn, and follows redirects. The
events include records above the high-water mark; the loader holds them back. Pure. This module must
not know sockets, time, nor the bytes of requests.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

from metalog.errors import CorruptLog, ErrorCode, InvalidSource
from metalog.hosts.host_port import Address
from metalog.ids import SnapshotId
from metalog.log.continuity import Continuity
from metalog.log.epochs import EpochStart
from metalog.ports import Appended, Gap, HighWatermark, LogEvent, SnapshotNeeded, Truncated
from metalog.records.batch import Batch, batch_size, decode_batch
from metalog.wire.fetch import EpochLeader, Fetched, FetchPosition
from metalog.wire.schema import error_name

_RETRIABLE: Final = frozenset((-1, 5, 6, 7, 8, 13, 74, 75))
"""After these errors, ask another controller, or ask the same controller with a newer epoch:
UNKNOWN_SERVER_ERROR, LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT,
BROKER_NOT_AVAILABLE (while it shuts down), NETWORK_EXCEPTION, FENCED_LEADER_EPOCH,
UNKNOWN_LEADER_EPOCH."""
INCONSISTENT_CLUSTER_ID: Final = 104
_UNKNOWN_EPOCH: Final = -1


class Epochs:
    """The epochs of the records that were read, for truncation (KIP-595, "Log Reconciliation").

    Reading began at offset ``start``; ``before`` is the epoch of the previous record, if known.
    """

    def __init__(self, start: int = 0, before: int | None = None) -> None:
        self._starts: list[EpochStart] = []
        self._before = before
        self.start = start
        self.end = start

    def extend(self, epoch: int, end: int) -> None:
        """Remember that the next records, up to offset ``end``, have this epoch."""
        if not self._starts or self._starts[-1].epoch != epoch:
            self._starts.append(EpochStart(epoch, self.end))
        self.end = end

    def at(self, offset: int) -> int | None:
        if offset == self.start - 1:
            return self._before
        index = bisect_right(self._starts, offset, key=lambda each: each.start_offset)
        return self._starts[index - 1].epoch if index and offset < self.end else None

    def common_end(self, epoch: int, end: int) -> int:
        """The offset from which on our log differs from the leader's log.

        ``epoch`` and ``end`` are the diverging epoch and its end offset in the leader's answer.
        """
        for index in reversed(range(len(self._starts))):
            if self._starts[index].epoch <= epoch:
                following = self._starts[index + 1 :]
                own_end = following[0].start_offset if following else self.end
                return min(own_end, end) if self._starts[index].epoch == epoch else own_end
        return self.start

    def truncate(self, offset: int) -> None:
        while self._starts and self._starts[-1].start_offset >= offset:
            self._starts.pop()
        self.end = min(self.end, offset)


class FollowVerdict(Enum):
    """The next step: read the answer, ask ``target`` now, or pause before asking ``target``."""

    LEADS = auto()
    ASK = auto()
    PAUSE = auto()
    """No controller of the list is left to ask."""


class Follower:
    """Decides the requests of an observer, and turns the answers into events.

    The caller fetches from ``target`` at ``fetch_position``, and passes the answer to
    ``handle_response``. If the verdict is ``LEADS``, the caller passes the answer to ``read``, too.
    If there is no answer, the caller calls ``note_failure``.
    """

    def __init__(self, controllers: Sequence[Address]) -> None:
        self.leader = EpochLeader(epoch=0)
        self.log_start = 0
        self.controllers = tuple(controllers)
        self._turn = 0
        self._leading: Address | None = None
        self._endpoints: dict[int, Address] = {}
        self._avoided: set[Address] = set()
        self._read_epochs = Epochs()
        self.seek(0)

    def seek(self, offset: int, before: int | None = None) -> None:
        """Read from ``offset`` on; ``before`` is the epoch of the previous record, if known."""
        self.position = offset
        self.high_watermark: int | None = None
        self._epochs = Epochs(offset, before)
        self._continuity = Continuity(None if before is None else offset, before)

    def resume(self, offset: int) -> None:
        """Read again from ``offset`` on, which can be inside a batch. With the epoch of the
        previous record, the leader detects a divergence."""
        self.seek(offset)
        self._epochs = Epochs(offset, self.epoch_before(offset))

    def epoch_before(self, offset: int) -> int | None:
        """The epoch of the record before ``offset`` when it was last read; None if unknown."""
        epoch = self._read_epochs.at(offset - 1)
        return None if epoch == _UNKNOWN_EPOCH else epoch

    def _remember(self, start: int, end: int, epoch: int) -> None:
        self._read_epochs.truncate(start)
        if self._read_epochs.end < start:
            self._read_epochs.extend(_UNKNOWN_EPOCH, start)
        self._read_epochs.extend(epoch, end)

    def begin_with(self, address: Address) -> None:
        """Ask the controller at ``address`` first."""
        self._turn = self.controllers.index(address)

    def forget_leader(self) -> None:
        """Forget the leader, because another quorum can use the old addresses now."""
        self.leader = EpochLeader(epoch=0)
        self.high_watermark = None
        self._leading = None

    @property
    def target(self) -> Address:
        """The controller to ask: the known leader if it did not fail, or else the next in turn."""
        if self._leading is not None:
            return self._leading
        endpoint = self._endpoints.get(self.leader.id)
        if endpoint is not None and endpoint not in self._avoided:
            return endpoint
        return self.controllers[self._turn % len(self.controllers)]

    @property
    def fetch_position(self) -> FetchPosition:
        last = self._epochs.at(self.position - 1)
        if last is None:
            last = self.leader.epoch if self.position else 0
        mark = -1 if self.high_watermark is None else self.high_watermark
        return FetchPosition(self.position, last, self.leader.epoch, mark)

    def note_failure(self, controller: Address) -> FollowVerdict:
        self._leading = None
        self._avoided.add(controller)
        self._turn += 1
        if self._turn % len(self.controllers):
            return FollowVerdict.ASK
        self._avoided.clear()
        return FollowVerdict.PAUSE

    def note_all_failed(self) -> FollowVerdict:
        self._leading = None
        self._avoided.clear()
        return FollowVerdict.PAUSE

    def handle_response(self, controller: Address, fetched: Fetched) -> FollowVerdict:
        """Take any answer; ``InvalidSource`` if a retry cannot help."""
        has_news = self._learn(fetched)
        if fetched.code == ErrorCode.NONE:
            self._leading = controller
            self._avoided.clear()
            return FollowVerdict.LEADS
        self._leading = None
        if fetched.code not in _RETRIABLE:
            self.note_failure(controller)
            raise InvalidSource(refused(controller, fetched.code))
        if has_news or self.target != controller:
            return FollowVerdict.ASK
        return self.note_failure(controller)

    def _learn(self, fetched: Fetched) -> bool:
        """Returns whether the epoch or its leader is new."""
        self._endpoints.update(fetched.endpoints)
        named, known = fetched.leader, self.leader
        is_later = named.epoch > known.epoch or (
            named.epoch == known.epoch and known.id < 0 <= named.id
        )
        if is_later:
            self.leader = named
            self._avoided.clear()
        return is_later

    def read(self, controller: Address, fetched: Fetched) -> list[LogEvent]:
        """The events of the leader's answer to ``fetch_position``; ``CorruptLog`` at damage.

        At a divergence, the answer's high-water mark is ignored, because our log can still have
        batches that the leader does not have. A new leader has no high-water mark until it commits
        a record. Until then its records are not read: after data loss, the old mark is not valid.
        """
        before = self._epochs.at(self.position - 1)
        if before is not None:  # if it is a snapshot's, the reader has loaded it
            self._remember(self.position - 1, self.position, before)
        self.log_start = max(fetched.log_start, 0)
        if fetched.diverging is not None:
            return [self._truncated(*fetched.diverging)]
        if fetched.high_watermark < 0:
            return []
        if fetched.snapshot is not None:
            return [self._for_snapshot(fetched.snapshot), *self._new_high_watermark(fetched)]
        batches = self._batches(controller, fetched.records)
        return [*self._new_high_watermark(fetched), *map(Appended, batches)]

    def _new_high_watermark(self, fetched: Fetched) -> list[LogEvent]:
        if fetched.high_watermark == self.high_watermark:
            return []
        self.high_watermark = fetched.high_watermark
        return [HighWatermark(self.high_watermark)]

    def _truncated(self, epoch: int, end: int) -> Truncated:
        """If nothing was read after ``seek``, there is no epoch to compare, so go back."""
        if self.position == self._epochs.start:
            self.seek(max(min(end, self.position - 1), 0))
        else:
            self.position = self._epochs.common_end(epoch, end)
            self._epochs.truncate(self.position)
            self._continuity = Continuity(self.position, self._epochs.at(self.position - 1))
        self.high_watermark = None
        return Truncated(self.position)

    def _for_snapshot(self, snapshot: SnapshotId) -> LogEvent:
        """To a fetch of offset 0, Kafka can name a snapshot even if its log begins at 0. Then the
        log has the whole history: read from offset 1, because offset 0 has only a LEADER_CHANGE."""
        if self.position == 0 and self.log_start == 0:
            self.seek(1)
            return Gap(0, 1, lost=False)
        self.seek(snapshot.end_offset, snapshot.epoch)
        if self.epoch_before(self.position) is None:  # else the reader can fail to load it
            self._remember(self.position - 1, self.position, snapshot.epoch)
        return SnapshotNeeded(snapshot)

    def _batches(self, controller: Address, records: bytes) -> list[Batch]:
        """The complete batches in ``records``; an incomplete last batch is fetched again."""
        batches, at = [], 0
        try:
            while (size := batch_size(records, at)) is not None and at + size <= len(records):
                batch = decode_batch(records, at, file=str(controller))
                at += size
                if batch.next_offset > self.position:
                    self._admit(batch)
                    batches.append(batch)
            if records and not at:
                raise CorruptLog("an answer without one whole batch")
        except CorruptLog as error:
            advice = "the controller sent a damaged log; check its own copy"
            raise CorruptLog(
                error.problem, file=str(controller), offset=self.position, advice=advice
            ) from None
        return batches

    def _admit(self, batch: Batch) -> None:
        if self._continuity.next_offset is None and batch.base_offset > self.position:
            raise CorruptLog(f"the answer begins after this offset, at offset {batch.base_offset}")
        self._continuity.admit(batch)
        self._epochs.extend(batch.epoch, batch.next_offset)
        self._remember(batch.base_offset, batch.next_offset, batch.epoch)
        self.position = batch.next_offset


def refused(controller: Address, code: int) -> str:
    if code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return f"{controller}: following the log needs CLUSTER_ACTION on the cluster; grant it"
    if code == INCONSISTENT_CLUSTER_ID:
        return f"{controller} is of another cluster; give the controllers of one quorum"
    return f"{controller}: the controller refuses to be followed: {error_name(code)}"

"""The state of a KIP-595 observer: whom to ask next, and what each answer means.

The observer of KIP-595: answers in, log events and the next question out. It finds the leader
by asking any controller, goes where it is sent, and after a round of all of them without one
says to pause. What is above the high-water mark is given too, for the loader holds it back;
where the leader's log is another, it is taken back. Pure. This module must not know sockets,
time, nor how questions are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

from metalog.errors import CorruptLog, ErrorCode, InvalidSource
from metalog.ids import SnapshotId
from metalog.log.continuity import Succession
from metalog.log.epochs import Epochs
from metalog.ports import Appended, Gap, HighWatermark, LogEvent, SnapshotNeeded, Truncated
from metalog.records.batch import Batch, batch_size, decode_batch
from metalog.wire.fetch import EpochLeader, Fetched, FetchPosition
from metalog.wire.hosts import Address
from metalog.wire.schema import error_name

_ELSEWHERE: Final = frozenset((-1, 5, 6, 7, 8, 13, 74, 75))
"""Ask another, or the same with what it told: UNKNOWN_SERVER_ERROR, LEADER_NOT_AVAILABLE,
NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT, BROKER_NOT_AVAILABLE (it is shutting down),
NETWORK_EXCEPTION, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH."""
_INCONSISTENT_CLUSTER_ID: Final = 104


class FollowVerdict(Enum):
    """What an answer says of who was asked, and so whom to ask next."""

    LEADS = auto()
    ASK_ON = auto()
    PAUSE = auto()
    """All were asked, and nobody leads just now."""


class Follower:
    """Ask ``target`` for ``place``; hand the answer to ``judge``, and if it is the leader's to
    ``read``; or say that there was ``no_answer``."""

    def __init__(self, controllers: Sequence[Address]) -> None:
        self.leader = EpochLeader(epoch=0)
        self.high_watermark: int | None = None
        self.log_start = 0
        self.controllers = tuple(controllers)
        self._turn = 0
        self._leading: Address | None = None
        self._endpoints: dict[int, Address] = {}
        self._avoided: set[Address] = set()
        self.seek(0)

    def seek(self, offset: int, before: int | None = None) -> None:
        """Read from ``offset`` on, as if nothing had been read but, perhaps, the epoch of what is
        ``before`` it."""
        self.position = offset
        self._epochs = Epochs(offset, before)
        self._succession = Succession(None if before is None else offset, before)
        self._told_mark = -1

    def begin_with(self, address: Address) -> None:
        """Ask this one of ``controllers`` first."""
        self._turn = self.controllers.index(address)

    def forget_leader(self) -> None:
        """As if nobody had been asked: what leads now may be another quorum on old addresses."""
        self.leader = EpochLeader(epoch=0)
        self.high_watermark = None
        self._leading = None

    @property
    def target(self) -> Address:
        """Who answered as the leader, by the address that was asked; else who is said to lead, if
        it can be reached there; else the next in turn."""
        if self._leading is not None:
            return self._leading
        told = self._endpoints.get(self.leader.id)
        if told is not None and told not in self._avoided:
            return told
        return self.controllers[self._turn % len(self.controllers)]

    @property
    def place(self) -> FetchPosition:
        """What was committed before the reading began is taken for the leader's too."""
        last = self._epochs.at(self.position - 1)
        if last is None:
            last = self.leader.epoch if self.position else 0
        mark = -1 if self.high_watermark is None else self.high_watermark
        return FetchPosition(self.position, last, self.leader.epoch, mark)

    def no_answer(self, asked: Address) -> FollowVerdict:
        self._leading = None
        self._avoided.add(asked)
        self._turn += 1
        if self._turn % len(self.controllers):
            return FollowVerdict.ASK_ON
        self._avoided.clear()
        return FollowVerdict.PAUSE

    def nobody_answers(self) -> FollowVerdict:
        """None of all controllers did."""
        self._leading = None
        self._avoided.clear()
        return FollowVerdict.PAUSE

    def judge(self, asked: Address, fetched: Fetched) -> FollowVerdict:
        """Of any answer, whatever was asked for; ``InvalidSource`` where asking on is of no use."""
        has_news = self._learn(fetched)
        if fetched.code == ErrorCode.NONE:
            self._leading = asked
            self._avoided.clear()
            return FollowVerdict.LEADS
        self._leading = None
        if fetched.code not in _ELSEWHERE:
            self.no_answer(asked)
            raise InvalidSource(_refused(asked, fetched.code))
        if has_news or self.target != asked:
            return FollowVerdict.ASK_ON
        return self.no_answer(asked)

    def _learn(self, fetched: Fetched) -> bool:
        """Whether the answer tells of a later leader than the one that is known."""
        self._endpoints.update(fetched.endpoints)
        told, known = fetched.leader, self.leader
        is_later = told.epoch > known.epoch or (
            told.epoch == known.epoch and known.id < 0 <= told.id
        )
        if is_later:
            self.leader = told
            self._avoided.clear()
        return is_later

    def read(self, asked: Address, fetched: Fetched) -> list[LogEvent]:
        """What the leader's answer to ``place`` means; ``CorruptLog`` at damage.

        Where the logs part, its mark is none of ours: one truncation may leave batches that the
        leader never had, and the next answer tells."""
        self.log_start = max(fetched.log_start, 0)
        if fetched.diverging is not None:
            return [self._truncated(*fetched.diverging)]
        if fetched.snapshot is not None:
            return [self._without_beginning(fetched.snapshot), *self._mark(fetched)]
        batches = self._batches(asked, fetched.records)
        return [*self._mark(fetched), *map(Appended, batches)]

    def _mark(self, fetched: Fetched) -> list[LogEvent]:
        if fetched.high_watermark >= 0:
            self.high_watermark = max(fetched.high_watermark, self.high_watermark or 0)
        if self.high_watermark is None or self.high_watermark <= self._told_mark:
            return []
        self._told_mark = self.high_watermark
        return [HighWatermark(self.high_watermark)]

    def _truncated(self, epoch: int, end: int) -> Truncated:
        """Below where the reading began nothing is known: then it begins again, lower. A mark
        below which a quorum truncates was that of a log which is no more."""
        if self.position == self._epochs.start:
            self.seek(max(min(end, self.position - 1), 0))
        else:
            self.position = self._epochs.common_end(epoch, end)
            self._epochs.truncate(self.position)
            self._succession = Succession(self.position, self._epochs.at(self.position - 1))
        if self.high_watermark is not None and self.position < self.high_watermark:
            self.high_watermark = None
        return Truncated(self.position)

    def _without_beginning(self, snapshot: SnapshotId) -> LogEvent:
        """Whoever asks for offset 0 is sent to the newest snapshot. Where the log is there from
        its beginning, it is read all the same, from past its first batch, a LEADER_CHANGE: it
        tells how things came to be."""
        if self.position == 0 and self.log_start == 0:
            self.seek(1)
            return Gap(0, 1, lost=False)
        self.seek(snapshot.end_offset, snapshot.epoch)
        return SnapshotNeeded(snapshot)

    def _batches(self, asked: Address, records: bytes) -> list[Batch]:
        """Those that are whole; the last may be cut off, and is then asked for again."""
        batches, at = [], 0
        while (size := batch_size(records, at)) is not None and at + size <= len(records):
            batch = self._decoded(asked, records, at)
            at += size
            if batch.next_offset > self.position:
                self._admit(asked, batch)
                batches.append(batch)
        if records and not at:
            raise self._damage(asked, "an answer without one whole batch")
        return batches

    def _decoded(self, asked: Address, records: bytes, at: int) -> Batch:
        try:
            return decode_batch(records, at, file=str(asked))
        except CorruptLog as error:
            raise self._damage(asked, error.problem) from None

    def _admit(self, asked: Address, batch: Batch) -> None:
        is_first = self._succession.next_offset is None
        if is_first and batch.base_offset > self.position:
            raise self._damage(asked, f"the log goes on at offset {batch.base_offset} only")
        try:
            self._succession.admit(batch)
        except CorruptLog as error:
            raise self._damage(asked, error.problem) from None
        self._epochs.extend(batch.epoch, batch.next_offset)
        self.position = batch.next_offset

    def _damage(self, asked: Address, problem: str) -> CorruptLog:
        advice = "what this controller sends is not a metadata log; look at its own copy"
        return CorruptLog(problem, file=str(asked), offset=self.position, advice=advice)


def _refused(asked: Address, code: int) -> str:
    if code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return f"{asked}: following the log needs CLUSTER_ACTION on the cluster; grant it"
    if code == _INCONSISTENT_CLUSTER_ID:
        return f"{asked} is of another cluster; give the controllers of one quorum"
    return f"{asked}: the controller refuses to be followed: {error_name(code)}"

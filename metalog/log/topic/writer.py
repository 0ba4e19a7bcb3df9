"""The only writer of a metadata log in a Kafka topic: it claims the log, then appends durably.

A claim takes over the topic's ``transactional.id``, so the cluster refuses the previous writer.
Each append is one transaction. After a failed write the writer cannot append again. This module
must not know what metadata records mean.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from metalog.disk.files import LOCAL_FILES, Files
from metalog.errors import InvalidRequest, InvalidSource, InvalidTarget, LogFenced, Unanswered
from metalog.ids import SnapshotId
from metalog.log.memory import DEFAULT_BOOTSTRAP
from metalog.log.topic.cluster import TopicCluster, TopicFacts, Transactions
from metalog.log.topic.reader import TopicLog, why_unfit
from metalog.log.topic.records import Encoding, outgoing
from metalog.ports import MAX_BATCH_BYTES, Appended, Gap, HighWatermark, LogBounds, LogEvent, Split
from metalog.records.batch import Batch, build_batch
from metalog.records.message import ControlMessage, Message
from metalog.records.messages import LeaderChangeMessage
from metalog.records.messages.leader_change_message import Voter
from metalog.text.plurals import counted

MIN_MESSAGE_BYTES: Final = 1_000_000
"""The smallest ``max.message.bytes``: the library sends batches up to this size."""
MAX_RECORD_BYTES: Final = 900_000
"""The largest value in bytes; the rest of the message needs space, too."""
_MARKER_OFFSETS: Final = 1
"""A transaction's end marker takes one offset. If the last stable offset is past the marker,
another writer has begun. This other writer's records must not be skipped."""
NEW_TOPIC: Final = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "unclean.leader.election.enable": "false",
}


class WritableTopicLog:
    """The log in the topic at ``address``, written by the node ``node_id``.

    A claim creates a missing topic. ``bootstrap`` are the first metadata records of a new log. A
    new log is in ``encoding``, or else in ``kraft``. If ``encoding`` is set, a claim refuses a log
    with another encoding. A claim first calls ``check_answers``, which can raise ``Unanswered``.
    """

    def __init__(
        self,
        address: str,
        settings: Mapping[str, str] | None = None,
        *,
        node_id: int = 1,
        encoding: Encoding | None = None,
        bootstrap: Sequence[tuple[Message, int]] = DEFAULT_BOOTSTRAP,
        snapshots: Path | None = None,
        files: Files = LOCAL_FILES,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        cluster: TopicCluster | None = None,
        check_answers: Callable[[], None] = lambda: None,
    ) -> None:
        self._log = TopicLog(address, settings, snapshots=snapshots, files=files, cluster=cluster)
        self._check_answers = check_answers
        self._node_id = node_id
        self._encoding = encoding
        self._bootstrap = tuple(bootstrap)
        self._now_ms = now_ms
        self._transactions: Transactions | None = None
        self._fenced: str | None = None
        self._log_encoding: Encoding = encoding or "kraft"
        self._start = self._end = self._follows = 0
        self._epoch = -1
        self._news: list[LogEvent] = []

    @property
    def path(self) -> str:
        """The topic's address."""
        return self._log.path

    def claim(self) -> int:
        """Become the only writer, in a new epoch; returns the epoch.

        Raises the errors of ``WritableLog.claim``.
        """
        if self._transactions is not None or self._fenced is not None:
            raise LogFenced(f"{self.path}: {self._fenced or 'claimed already'}")
        try:
            self._check_answers()
            ensure_topic(self._log.cluster)
            self._refuse_unwritable()
            self._transactions = self._log.cluster.claim()
            self._begin_epoch()
        except BaseException as error:
            self._give_up()
            if self._fenced is None:
                self._epoch = -1
            if isinstance(error, InvalidSource) and not isinstance(error, Unanswered):
                raise InvalidTarget(str(error)) from None
            raise
        return self._epoch

    def append(self, epoch: int, records: Sequence[tuple[Message, int]]) -> int:
        """Append (message, version) pairs as one durable batch; returns the new end offset.

        Raises the errors of ``WritableLog.append``; ``InvalidRequest`` also for a too large record.
        """
        return self._append(epoch, records)

    def trim(self, before: SnapshotId) -> None:
        """Delete, for every reader, the records that the snapshot ``before`` includes."""
        if self._transactions is None:
            raise LogFenced(f"{self.path}: {self._fenced or 'not claimed'}")
        if before not in self._log.snapshots():
            raise InvalidRequest(f"{self.path}: there is no snapshot {before}")
        self._log.cluster.delete_before(before.end_offset)
        self._start = before.end_offset

    def bootstrap_records(self) -> Sequence[tuple[Message, int]]:
        """The first records, as (message, version) pairs, of a log without a metadata.version."""
        return self._bootstrap

    def close(self) -> None:
        """Release the log; it cannot be claimed again."""
        self._give_up()
        self._fenced = self._fenced or "closed"

    def _give_up(self) -> None:
        transactions, self._transactions = self._transactions, None
        if transactions is not None:
            transactions.close()
        self._log.close()

    def bounds(self) -> LogBounds:
        """The log's start, its end (the high-water mark), and its last epoch."""
        if self._transactions is None:
            return self._log.bounds()
        return LogBounds(self._start, self._end, self._epoch, self._end, "no other writer exists")

    def read(self, start: int) -> Iterator[LogEvent]:
        """The events from offset ``start`` up to the current end of the log.

        Raises ``CorruptLog`` if the log is damaged.
        """
        self._news = []
        return self._log.read(start)

    def poll(self, timeout_s: float) -> Sequence[LogEvent]:
        """The events after the last poll or read; empty if none comes in ``timeout_s`` seconds."""
        if self._epoch < 0:
            return self._log.poll(timeout_s)
        if not self._news:
            time.sleep(timeout_s)
        news, self._news = self._news, []
        return news

    def splits(self) -> Sequence[Split]:
        """The log as input splits, in order."""
        return self._log.splits()

    def snapshots(self) -> Sequence[SnapshotId]:
        """The ids of the log's snapshots, oldest first."""
        return self._log.snapshots()

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]:
        """All batches of the snapshot ``id``. The caller checks header and footer.

        Raises ``InvalidSource`` if there is no such snapshot.
        """
        return self._log.open_snapshot(id)

    def _refuse_unwritable(self) -> None:
        if self._log.bounds().start > 0:
            self._log.check()
        last = self._log.last
        if last is not None and self._encoding not in (None, last.encoding):
            raise InvalidTarget(
                f"{self.path}: its values are in {last.encoding}, not in {self._encoding}; give"
                f" encoding={last.encoding!r}, or use another topic"
            )

    def _begin_epoch(self) -> None:
        """The claim aborted the old writer's transaction, so the log's end is final."""
        self._log.refresh()
        self._refuse_unwritable()
        bounds, last = self._log.bounds(), self._log.last
        if last is not None:
            self._log_encoding = last.encoding
        self._start, self._end = bounds.start, bounds.end
        self._follows = 0 if last is None else last.end
        self._epoch = 1 if last is None else last.epoch + 1
        voter = (Voter(self._node_id),)
        self._append(self._epoch, [(LeaderChangeMessage(0, self._node_id, voter, voter), 0)])

    def _append(self, epoch: int, records: Sequence[tuple[Message | ControlMessage, int]]) -> int:
        transactions = self._transactions
        if transactions is None or self._fenced is not None:
            raise LogFenced(f"{self.path}: {self._fenced or 'not claimed'}")
        if epoch != self._epoch:
            raise LogFenced(f"{self.path}: epoch {epoch} is over; the epoch is now {self._epoch}")
        batch = build_batch(self._end, epoch, self._now_ms(), records)
        messages = outgoing(batch, self._log_encoding, self._follows)
        largest = max(len(message.value) for message in messages)
        if batch.size > MAX_BATCH_BYTES or largest > MAX_RECORD_BYTES:
            advice = "; send fewer records at a time" if largest <= MAX_RECORD_BYTES else ""
            raise InvalidRequest(
                f"{counted(len(records), 'record needs', 'records need')} {batch.size} bytes, the"
                f" largest {largest}; a batch may have at most {MAX_BATCH_BYTES} bytes, one"
                f" record at most {MAX_RECORD_BYTES}{advice}"
            )
        try:
            stable = transactions.send(messages, batch.base_timestamp, self._end)
        except BaseException as error:
            self._fenced = f"a write failed, and nothing more is written ({error})"
            self.close()
            raise
        self._follows, self._end = batch.next_offset, batch.next_offset + _MARKER_OFFSETS
        if stable == self._end:
            marker = Gap(batch.next_offset, stable, lost=False)
            self._news += HighWatermark(stable), Appended(batch), marker
        else:
            self._news += HighWatermark(batch.next_offset), Appended(batch)
        return self._end


def ensure_topic(cluster: TopicCluster) -> None:
    """Create the topic if it does not exist; ``InvalidTarget`` if it cannot hold a log."""
    facts = cluster.facts() or cluster.create(NEW_TOPIC)
    if (why := why_unfit(facts) or _why_too_small(facts)) is not None:
        raise InvalidTarget(f"{cluster.address}: {why}")


def _why_too_small(facts: TopicFacts) -> str | None:
    limit = facts.settings.get("max.message.bytes")
    if limit is None or int(limit) >= MIN_MESSAGE_BYTES:
        return None
    return f"its max.message.bytes is {limit}; a writer needs {MIN_MESSAGE_BYTES}"

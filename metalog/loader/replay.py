"""Replay: turns the events of a log into images, and publishes the images.

The loader does no I/O. Its driver (a Replica, a command) reads the log and opens the snapshots. The
loader publishes nothing above the last stable offset: the high-water mark, or the beginning of an
open metadata transaction. Later batches are held back, up to a limit. An aborted transaction has no
effect.

After ``CorruptLog``, the old image stays in force, and the driver reads again from ``position``.
This is the end of the image, or the log's beginning if the log lost committed records
(``Diverged``). This module must not know files, threads, clocks, nor what publishers do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from metalog.errors import CorruptLog
from metalog.ids import SnapshotId
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import (
    NOTHING,
    Leader,
    LogManifest,
    Manifest,
    Provenance,
    SnapshotManifest,
)
from metalog.image.metadata import EMPTY, MetadataImage
from metalog.image.policy import MARKERS, may_be_marker
from metalog.image.selection import ImageSelection
from metalog.loader.other_kafka import refuse_other_kafka, refuse_unknown_kafka
from metalog.loader.publishing import PublisherFault, Publishers
from metalog.loader.record_policy import LoadDoubt, RecordPolicy, Skipped
from metalog.loader.size import Size
from metalog.loader.snapshot_replay import replay_snapshot
from metalog.loader.state import Diverged, Loading, Ready, Stale, State
from metalog.loader.transaction import OpenTransaction, Transaction
from metalog.ports import (
    Appended,
    CutShort,
    Gap,
    HighWatermark,
    Log,
    LogEvent,
    Publisher,
    SnapshotNeeded,
    Truncated,
)
from metalog.records.batch import Batch
from metalog.records.fast_decode.acl_fast_decode import Part, messages_of, numbered
from metalog.records.messages import (
    BeginTransactionRecord,
    EndTransactionRecord,
    KRaftVersionRecord,
    LeaderChangeMessage,
)

BUFFER_LIMIT: Final = 256 << 20
"""How many bytes of batches the loader may hold back."""
NoteRecords = Callable[[Batch, int, Sequence[Part]], object]


class Loader:
    """Replays a log into images, and passes each image to the publishers.

    Args:
        tolerant: continue after faults at which a strict loader stops (``doubts``).
        buffer_limit: in bytes, as ``BUFFER_LIMIT``.
        selection: the kinds of state to read; None means all.
        kafka: if this Kafka version refuses the log, raise ``ConfigException``.
        note_records: called with each replayed batch, the offset of its first replayed record, and
            its replayed records.
    """

    def __init__(
        self,
        publishers: Iterable[Publisher] = (),
        *,
        tolerant: bool = False,
        buffer_limit: int = BUFFER_LIMIT,
        selection: ImageSelection | None = None,
        kafka: str | None = None,
        note_records: NoteRecords | None = None,
    ) -> None:
        refuse_unknown_kafka(kafka)
        self._note_records = note_records
        self.image: MetadataImage = EMPTY if selection is None else selection.empty
        self.high_watermark: int | None = None
        self.kraft_version = 0
        """The level of kraft.version, a feature that only control records set."""
        self._publishers = Publishers(publishers)
        self._policy = RecordPolicy(tolerant=tolerant)
        self._buffer_limit = buffer_limit
        self._kafka = kafka
        self._leader = Leader(-1, -1)
        self._seen_metadata = False
        self._is_ready = False
        self._has_diverged = False
        self._fault: tuple[int, Exception] | None = None
        self._unread = None if selection is None else selection.unread
        self._begin_at(NOTHING, MetadataDelta(self.image))

    def _begin_at(self, start: Provenance, delta: MetadataDelta) -> None:
        """Drop everything after ``start``, where ``delta`` begins."""
        self._delta = delta
        self._size = Size()
        self._snapshot: SnapshotId | None = None
        self._replayed = start
        self._position = start.offset
        self._read_epoch = start.epoch
        self._transaction: Transaction | None = None
        self._waiting: deque[Batch] = deque()
        self._waiting_size = 0

    @property
    def position(self) -> int:
        """The next offset to read; after a fault, the offset from which to read again."""
        return self._position

    @property
    def is_transaction_open(self) -> bool:
        """Whether a transaction has begun and not ended."""
        return self._transaction is not None

    @property
    def open_transaction(self) -> OpenTransaction | None:
        """The transaction that has begun and not ended, or None."""
        return None if self._transaction is None else self._transaction.summary()

    @property
    def state(self) -> State:
        """Whether the image is loading, ready or stale."""
        if not self._is_ready:
            fault = None if self._fault is None else self._fault[1]
            return Loading(self._position, self.high_watermark, fault)
        return Ready(self.image.provenance.offset) if self._fault is None else Stale(*self._fault)

    @property
    def publisher_faults(self) -> Sequence[PublisherFault]:
        """The latest fault of each publisher that had one."""
        return self._publishers.faults

    @property
    def skipped(self) -> Mapping[str, Skipped]:
        """The skipped records by type; missing records are one type."""
        return self._policy.skipped

    @property
    def doubts(self) -> Mapping[str, LoadDoubt]:
        """The faults at which a strict loader would have stopped, by kind."""
        return self._policy.doubts

    def note_fault(self, fault: Exception) -> None:
        """Note a fault. ``position`` is then the offset from which to read again."""
        offset = fault.offset if isinstance(fault, CorruptLog) else None
        self._fault = (self._replayed.offset if offset is None else offset, fault)
        if isinstance(fault, Diverged):
            self._has_diverged = True
            self.high_watermark = None
        if self._has_diverged:
            self._begin_at(NOTHING, MetadataDelta(self.image, is_replacement=True))
        else:
            self._begin_at(self.image.provenance, MetadataDelta(self.image))

    def note_staleness(self, for_ms: int) -> None:
        """Tell gates how long the image has been stale; any thread may call this method."""
        if self._is_ready:
            self._publishers.note_staleness(for_ms)

    def handle(self, event: LogEvent) -> None:
        """Take the next event of the log. At ``SnapshotNeeded``, call ``load_snapshot`` instead."""
        try:
            if isinstance(event, Appended):
                self._append(event.batch)
            elif isinstance(event, HighWatermark):
                self.high_watermark = max(event.offset, self._replayed.offset)
            elif isinstance(event, Truncated):
                self._truncate(event.offset)
            elif isinstance(event, Gap):
                self._accept_gap(event)
            elif isinstance(event, CutShort):
                self._policy.note_cut(event)
            self._take_committed()
        except CorruptLog as fault:
            self.note_fault(fault)
            raise
        self._publish_if_due()

    def load_snapshot(self, id: SnapshotId, batches: Iterable[Batch]) -> None:
        """Replace the whole state by a snapshot; ``batches`` include its header and footer.

        Raises ``CorruptLog`` if the snapshot cannot be replayed, and ``Diverged`` if it ends before
        a replayed record: the log has another record there.
        """
        try:
            if id.end_offset < self._replayed.offset:
                raise _diverged(self._replayed.offset, id.end_offset)
            self._replace(id, batches)
        except CorruptLog as fault:
            self.note_fault(fault)
            raise
        self._publish_if_due()

    def _replace(self, id: SnapshotId, batches: Iterable[Batch]) -> None:
        delta = MetadataDelta(self.image, is_replacement=True)
        contents = replay_snapshot(id, batches, delta, self._policy, self._unread)
        for each in contents.controls:
            self._take_control(each, id.epoch)
        self._begin_at(Provenance(id.end_offset, id.epoch, contents.timestamp), delta)
        self._seen_metadata |= contents.has_records
        self._size, self._snapshot = contents.size, id

    def _append(self, batch: Batch) -> None:
        next_offset = batch.next_offset
        if next_offset <= self._position:
            raise _misplaced(
                batch, f"offset {batch.base_offset} follows offset {self._position - 1}"
            )
        if batch.epoch < self._read_epoch:
            raise _misplaced(batch, f"the epoch falls from {self._read_epoch} to {batch.epoch}")
        if batch.base_offset > self._position:
            self._accept_gap(Gap(self._position, batch.base_offset, lost=True))
        self._waiting.append(batch)
        self._waiting_size += batch.size
        self._position = next_offset
        self._read_epoch = batch.epoch

    def _truncate(self, offset: int) -> None:
        if offset < self._replayed.offset:
            raise _diverged(self._replayed.offset, offset)
        if self.high_watermark is not None and self.high_watermark > offset:
            self.high_watermark = None
        while self._waiting and self._waiting[-1].next_offset > offset:
            dropped = self._waiting.pop()
            self._waiting_size -= dropped.size
            offset = max(min(offset, dropped.base_offset), self._replayed.offset)
        self._position = min(offset, self._position)
        self._read_epoch = self._waiting[-1].epoch if self._waiting else self._replayed.epoch

    def _accept_gap(self, gap: Gap) -> None:
        if gap.start > self._position:
            self._policy.accept_gap(Gap(self._position, gap.start, lost=True))
        self._policy.accept_gap(gap)
        self._position = max(self._position, gap.end)

    def _take_committed(self) -> None:
        mark = -1 if self.high_watermark is None else self.high_watermark
        waiting = self._waiting
        while waiting and waiting[0].base_offset < mark:
            batch = waiting[0]
            next_offset = batch.next_offset
            end = min(mark, next_offset)
            if end > self._replayed.offset:
                self._take(batch, end)
            if end < next_offset:
                break
            waiting.popleft()
            self._waiting_size -= batch.size
            self._size = self._size.with_batch(batch)
        if not self._waiting and self._replayed.offset < min(mark, self._position):
            self._replayed = self._replayed._replace(offset=min(mark, self._position))
        self._check_buffer_limit()

    def _take(self, batch: Batch, end: int) -> None:
        """Replay the records of ``batch`` below offset ``end`` that were not replayed yet."""
        base = batch.base_offset
        first = max(self._replayed.offset, base)
        parts = batch.parts(self._unread)
        if first > base or end < batch.next_offset:
            parts = [*messages_of(parts)[first - base : end - base]]
        if self._note_records is not None:
            self._note_records(batch, first, parts)
        if batch.is_control:
            for part in self._policy.readable(batch, parts, first):
                self._take_control(part, batch.epoch)
        else:
            self._seen_metadata = True
            if self._transaction is None and MARKERS.isdisjoint(map(type, parts)):
                span = range(first, end)
                self._policy.replay(self._delta, numbered(parts, first), span, [batch])
            else:
                self._take_transactions(batch, first, messages_of(parts))
        self._replayed = tuple.__new__(Provenance, (end, batch.epoch, batch.max_timestamp))

    def _take_control(self, part: Any, epoch: int) -> None:
        if isinstance(part, LeaderChangeMessage):
            self._leader = Leader(part.leader_id, epoch)
        elif isinstance(part, KRaftVersionRecord):
            self.kraft_version = part.kraft_version

    def _take_transactions(self, batch: Batch, first: int, messages: Sequence[Any]) -> None:
        run: list[tuple[int, Any]] = []
        for offset, message in enumerate(messages, first):
            kind, transaction = type(message), self._transaction
            if kind not in MARKERS:
                if transaction is None or may_be_marker(message):
                    run.append((offset, message))
                else:
                    transaction.entries.extend(self._policy.to_buffer(batch, offset, message))
            elif kind is BeginTransactionRecord:
                if transaction is not None:
                    raise _misplaced(batch, f"{kind.__name__} inside a transaction", offset)
                self._replay_run(run, [batch])
                run = []
                before = Provenance(offset, batch.epoch, batch.max_timestamp)
                if offset == batch.base_offset:
                    before = self._replayed._replace(offset=offset)
                self._transaction = Transaction(before, [], [])
            else:
                if transaction is None:
                    raise _misplaced(batch, f"{kind.__name__} outside a transaction", offset)
                self._transaction = None
                if kind is EndTransactionRecord:
                    self._replay_run(transaction.entries, [*transaction.batches, batch])
        self._replay_run(run, [batch])
        if self._transaction is not None:
            self._transaction.batches.append(batch)

    def _replay_run(self, entries: Sequence[tuple[int, Any]], batches: Sequence[Batch]) -> None:
        if entries:
            self._policy.replay(
                self._delta, entries, range(entries[0][0], entries[-1][0] + 1), batches
            )

    def _check_buffer_limit(self) -> None:
        waiting_bytes = self._waiting_size
        if self._transaction is not None:
            waiting_bytes += sum(batch.size for batch in self._transaction.batches)
        if waiting_bytes > self._buffer_limit:
            raise CorruptLog(
                f"{waiting_bytes} bytes are held back above the last stable offset; the limit is"
                f" {self._buffer_limit}",
                offset=self._stable.offset,
                advice="wait for the high-water mark, or raise buffer_limit",
            )

    @property
    def _stable(self) -> Provenance:
        """The last stable offset: the delta has all records below it."""
        return self._replayed if self._transaction is None else self._transaction.before

    def _publish_if_due(self) -> None:
        mark = self.high_watermark
        has_caught_up = self._seen_metadata and mark is not None and self._replayed.offset >= mark
        was_stale = self._is_ready and self._fault is not None
        if has_caught_up:
            self._fault = None
        if not self._is_ready or self._delta.is_replacement:
            is_due = has_caught_up
        else:
            is_due = self._stable.offset > self.image.provenance.offset
        if is_due:
            self._publish()
        if was_stale and self._fault is None:
            self._publishers.note_staleness(0)

    def _publish(self) -> None:
        delta, provenance = self._delta, self._stable
        delta.finish_snapshot()
        image = delta.apply(provenance)
        refuse_other_kafka(image.features, self._kafka)
        manifest: Manifest = LogManifest(provenance, self._leader, *self._size)
        if self._snapshot is not None:
            manifest = SnapshotManifest(provenance, self._leader, *self._size, self._snapshot)
        self.image = image
        self._is_ready = True
        self._has_diverged = False
        self._delta = MetadataDelta(image)
        self._size = Size()
        self._snapshot = None
        self._publishers.publish(delta, image, manifest)


def feed(loader: Loader, log: Log, events: Iterable[LogEvent]) -> None:
    """Pass ``events`` of ``log`` to ``loader``, and open the snapshots that the loader needs."""
    for event in events:
        if isinstance(event, SnapshotNeeded):
            loader.load_snapshot(event.id, log.open_snapshot(event.id))
        else:
            loader.handle(event)


def _diverged(replayed: int, offset: int) -> Diverged:
    return Diverged(
        f"the log lost committed records below offset {replayed}",
        offset=offset,
        advice="it is read again from its beginning",
    )


def _misplaced(batch: Batch, problem: str, offset: int | None = None) -> CorruptLog:
    place = batch.base_offset if offset is None else offset
    return CorruptLog(problem, file=batch.file, offset=place, byte=batch.position)

"""The only writer of a metadata log in a folder: it claims the log, then appends durably.

A claim takes ``.lock`` as Kafka does, cuts off a torn tail, and begins a new epoch. It writes
quorum-state, leader-epoch-checkpoint, and a LEADER_CHANGE batch, each durably before the next.
After a failed append, the writer never writes again.

All records in this log are committed, because its node is the only voter. This module must not know
what metadata records mean.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from metalog.disk.files import LOCAL_FILES, FileLock, Files, replace_whole
from metalog.errors import CorruptLog, InvalidRequest, InvalidTarget, LogFenced
from metalog.ids import SnapshotId
from metalog.log.epochs import EpochStart
from metalog.log.folder import layout
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder.layout import QuorumState
from metalog.log.folder.location import LogFolder
from metalog.log.folder.segment import TornTail
from metalog.log.folder.single_file import read_checkpoint
from metalog.log.folder_writer.appender import Appender, SegmentLimits
from metalog.log.folder_writer.ownership import Owner, check_ownership
from metalog.log.folder_writer.retention import remove_unfinished, trim_folder
from metalog.log.quorum.voters import Quorum, quorum_records
from metalog.ports import MAX_BATCH_BYTES, Appended, HighWatermark, LogBounds, LogEvent, Split
from metalog.records.batch import Batch, build_batch
from metalog.records.checkpoint import check_snapshot
from metalog.records.message import ControlMessage, Message
from metalog.records.messages import LeaderChangeMessage
from metalog.records.messages.leader_change_message import Voter
from metalog.text.plurals import counted

_log = logging.getLogger(__name__)


class WritableDirectoryLog:
    """The log of a formatted, stopped node; ``path`` is its ``metadata.log.dir``.

    ``voters`` are the voters in the node's configuration. The claim cuts off ``torn_tail``.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        voters: Collection[int] | None = None,
        limits: SegmentLimits | None = None,
        files: Files = LOCAL_FILES,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.torn_tail: TornTail | None = None
        self._log = DirectoryLog(path, files=files)
        self._voters = voters
        self._limits = limits or SegmentLimits()
        self._files = files
        self._now_ms = now_ms
        self._lock: FileLock | None = None
        self._appender: Appender | None = None
        self._fenced: str | None = None
        self._start = self._end = 0
        self._epoch = -1
        self._news: list[LogEvent] = []
        self._quorum = Quorum()

    @property
    def path(self) -> Path:
        """The folder."""
        return self._log.path

    def claim(self) -> int:
        """Become the only writer, in a new epoch; returns the epoch.

        Raises:
            InvalidTarget: this node may not write the log, or a file cannot be written.
            CorruptLog: the log is damaged.
            LogFenced: this object claimed the log before, or was closed; or an append failed.
        """
        if self._appender is not None or self._fenced is not None:
            raise LogFenced(f"{self.path}: {self._fenced or 'claimed already'}")
        self._lock = self._locked()
        try:
            self._log.refresh()
            owner = check_ownership(self._log, self._voters)
            self._begin_epoch(owner)
        except BaseException as error:
            self._give_up()
            if self._fenced is None:
                self._epoch = -1
            if isinstance(error, OSError):
                raise _unwritable(self.path, error) from error
            raise
        return self._epoch

    def append(self, epoch: int, records: Sequence[tuple[Message, int]]) -> int:
        """Append (message, version) pairs as one durable batch; returns the new end offset.

        Raises ``InvalidRequest`` if the batch is too large, and ``LogFenced`` if ``epoch`` is over
        or a write has failed.
        """
        return self._append(epoch, records)

    def close(self) -> None:
        """Release the log; it cannot be claimed again."""
        self._give_up()
        self._fenced = self._fenced or "closed"

    def _give_up(self) -> None:
        appender, self._appender = self._appender, None
        try:
            if appender is not None:
                appender.finish()
        except OSError as error:
            _log.warning("%s: its indexes were not finished (%s)", self.path, error)
        finally:
            if appender is not None:
                appender.close()
            if self._lock is not None:
                self._lock.close()
                self._lock = None

    @property
    def is_claimed(self) -> bool:
        """Whether this object is the writer now."""
        return self._appender is not None

    def bootstrap_records(self) -> Sequence[tuple[Message, int]]:
        """The first records of a log without a metadata.version, as (message, version) pairs."""
        path = self._log.bootstrap_path
        if path is None:
            raise InvalidTarget(
                f"{self.path}: the log has no metadata.version, and the folder has no bootstrap"
                " records; format the folder"
            )
        return [
            _readable(entry.message, entry.version, str(path))
            for batch in check_snapshot(read_checkpoint(path, self._files))
            if not batch.is_control
            for entry in batch.entries()
        ]

    def trim(self, before: SnapshotId) -> None:
        """Delete the files that snapshot ``before`` replaces; an ``OSError`` leaves a sound log."""
        if self._appender is None:
            raise LogFenced(f"{self.path}: {self._fenced or 'not claimed'}")
        trim_folder(self.folder, before, self._files)
        self._start = self.folder.segments[0]

    @property
    def folder(self) -> LogFolder:
        """The folder's files, listed now."""
        self._log.refresh()
        return self._log.folder

    @property
    def snapshot_control(self) -> Sequence[tuple[ControlMessage, int]]:
        """The control records that follow the header of a snapshot (KIP-853)."""
        return quorum_records(self._quorum)

    def bounds(self) -> LogBounds:
        """The log's start, end and last epoch, and the high-water mark if known."""
        if self._appender is None:
            return self._log.bounds()
        return LogBounds(self._start, self._end, self._epoch, self._end, "no other writer exists")

    def read(self, start: int) -> Iterator[LogEvent]:
        """The events from offset ``start``; after a claim, without a batch whose write failed."""
        self._news = []
        for event in self._log.read(start):
            if self._epoch < 0:
                yield event
            elif isinstance(event, HighWatermark):
                yield HighWatermark(min(event.offset, self._end))
            elif not isinstance(event, Appended) or event.batch.next_offset <= self._end:
                yield event

    def poll(self, timeout_s: float) -> Sequence[LogEvent]:
        """The events after the last poll or read; empty if none comes in ``timeout_s`` seconds."""
        if self._epoch < 0:
            return self._log.poll(timeout_s)
        if not self._news:
            time.sleep(timeout_s)
        news, self._news = self._news, []
        return news

    def splits(self) -> Sequence[Split]:
        """The log as input splits, in order; empty if a snapshot replaces the log."""
        return self._log.splits()

    def snapshots(self) -> Sequence[SnapshotId]:
        """The ids of the log's snapshots, oldest first."""
        return self._log.snapshots()

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]:
        """All batches of the snapshot ``id``. The caller checks header and footer.

        Raises ``InvalidSource`` if there is no such snapshot.
        """
        return self._log.open_snapshot(id)

    def _locked(self) -> FileLock:
        log_dir = self._log.folder.log_dir
        if log_dir is None:
            raise InvalidTarget(
                f"{self.path}: not written to, because its node is unknown without"
                f" {layout.META_PROPERTIES}; give the metadata.log.dir of the node itself"
            )
        try:
            return self._files.lock(log_dir / layout.LOCK)
        except BlockingIOError:
            raise InvalidTarget(
                f"{log_dir}: a running node holds its {layout.LOCK}; stop the node, or change"
                " the running cluster (cluster://HOST:PORT)"
            ) from None
        except OSError as error:
            raise _unwritable(log_dir, error) from error

    def _begin_epoch(self, owner: Owner) -> None:
        self._quorum = owner.quorum
        ends, folder, state = self._log.ends, self._log.folder, self._log.quorum_state
        partition = folder.partition
        epochs = self._epoch_starts()
        self._files.make_folder(partition)
        self._files.sync_folder(partition.parent)
        remove_unfinished(partition, self._files)
        if not self._files.is_file(partition / layout.PARTITION_METADATA):
            replace_whole(
                self._files, partition / layout.PARTITION_METADATA, layout.PARTITION_METADATA_BYTES
            )
        self._start, self._end = ends.start, ends.end
        self._appender = self._opened_segment(partition)
        self.torn_tail = ends.torn_tail
        if self.torn_tail is not None:
            _log.warning("cut off a torn tail: %s", self.torn_tail)
        self._epoch = max(ends.epoch, state.leader_epoch if state else 0) + 1
        elected = QuorumState(
            owner.node_id, self._epoch, -1, (owner.node_id,), min(owner.quorum.kraft_version, 1)
        )
        replace_whole(
            self._files, partition / layout.QUORUM_STATE, layout.quorum_state_bytes(elected)
        )
        replace_whole(
            self._files,
            partition / layout.LEADER_EPOCH_CHECKPOINT,
            layout.leader_epochs_bytes([*epochs, EpochStart(self._epoch, self._end)]),
        )
        self._append(self._epoch, _beginning_of_epoch(owner))

    def _opened_segment(self, partition: Path) -> Appender:
        ends, segments = self._log.ends, self._log.folder.segments
        if not segments:
            return Appender(partition, ends.end, self._files, self._limits)
        is_last = ends.read_position is not None and ends.read_position.segment == segments[-1]
        size = ends.read_position.byte if ends.read_position is not None and is_last else 0
        return Appender(partition, segments[-1], self._files, self._limits, size=size)

    def _epoch_starts(self) -> list[EpochStart]:
        """The checkpoint can lack the newest epoch, and can have an epoch without a batch."""
        ends = self._log.ends
        starts = [s for s in self._log.leader_epochs.starts if s.start_offset < ends.end]
        if (starts[-1].epoch if starts else -1) < ends.epoch:
            for batch in self._log.batches(ends.start):
                if not starts or batch.epoch > starts[-1].epoch:
                    starts.append(EpochStart(batch.epoch, batch.base_offset))
        return starts

    def _append(self, epoch: int, records: Sequence[tuple[Message | ControlMessage, int]]) -> int:
        appender = self._appender
        if self._fenced is not None or appender is None:
            raise LogFenced(f"{self.path}: {self._fenced or 'not claimed'}")
        if epoch != self._epoch:
            raise LogFenced(f"{self.path}: epoch {epoch} is over; the epoch is now {self._epoch}")
        batch = build_batch(self._end, epoch, self._now_ms(), records)
        if batch.size > MAX_BATCH_BYTES:
            advice = "; send fewer records at a time" if len(records) > 1 else ""
            raise InvalidRequest(
                f"{counted(len(records), 'record needs', 'records need')} {batch.size} bytes;"
                f" Kafka reads at most {MAX_BATCH_BYTES} in a batch{advice}"
            )
        try:
            appender.append(batch)
        except BaseException as error:
            self._fence(appender, error)
            if isinstance(error, OSError):
                raise LogFenced(f"{self.path}: {self._fenced}") from error
            raise
        self._end = batch.next_offset
        self._news += HighWatermark(self._end), Appended(batch)
        return self._end

    def _fence(self, appender: Appender, error: BaseException) -> None:
        """Close the files, but keep the lock."""
        reason = error.strerror if isinstance(error, OSError) else None
        self._fenced = (
            f"a write failed ({reason or str(error) or type(error).__name__}), and nothing more is"
            " written; restart to check what is on the disk"
        )
        self._appender = None
        with suppress(OSError):
            appender.close()


def _beginning_of_epoch(owner: Owner) -> list[tuple[ControlMessage, int]]:
    quorum = owner.quorum
    voter = (Voter(owner.node_id),)
    records: list[tuple[ControlMessage, int]] = [
        (LeaderChangeMessage(0, owner.node_id, voter, voter), 0)
    ]
    return records if quorum.is_in_log else [*records, *quorum_records(quorum)]


def _readable(message: object, version: int, file: str) -> tuple[Message, int]:
    if not isinstance(message, Message):
        raise CorruptLog("a record that cannot be read", file=file)
    return message, version


def _unwritable(path: Path, error: OSError) -> InvalidTarget:
    place = error.filename if error.filename is not None else path
    return InvalidTarget(f"{place}: cannot be written ({error.strerror or error})")

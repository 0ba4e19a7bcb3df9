"""Logs in memory, for tests and embedding.

This module must not know any file.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from metalog.errors import CorruptLog, InvalidRequest, LogFenced
from metalog.ids import SnapshotId
from metalog.image.state.features import DEFAULT_METADATA_VERSION, METADATA_VERSION
from metalog.log.continuity import Continuity
from metalog.ports import Appended, HighWatermark, LogBounds, LogEvent, SnapshotNeeded, Split
from metalog.records.batch import Batch, build_batch
from metalog.records.message import ControlMessage, Message
from metalog.records.messages import FeatureLevelRecord, LeaderChangeMessage
from metalog.records.messages.leader_change_message import Voter

DEFAULT_BOOTSTRAP: Final[Sequence[tuple[Message, int]]] = (
    (FeatureLevelRecord(METADATA_VERSION, DEFAULT_METADATA_VERSION), 0),
)


class MemoryLog:
    """A read-only log of batches in memory.

    By default, the whole log is committed. Raises ``CorruptLog`` if the batches do not follow one
    another.
    """

    def __init__(
        self,
        batches: Iterable[Batch],
        *,
        snapshots: Mapping[SnapshotId, Sequence[Batch]] | None = None,
        high_watermark: int | None = None,
    ) -> None:
        self._batches = tuple(batches)
        self._snapshots = dict(snapshots or {})
        continuity = Continuity()
        for batch in self._batches:
            continuity.admit(batch)
        newest = max(self._snapshots, default=SnapshotId(0, 0))
        start = self._batches[0].base_offset if self._batches else newest.end_offset
        end = newest.end_offset if continuity.next_offset is None else continuity.next_offset
        epoch = newest.epoch if continuity.epoch is None else continuity.epoch
        committed = end if high_watermark is None else high_watermark
        self._bounds = LogBounds(start, end, epoch, committed, "high_watermark of MemoryLog")

    def bounds(self) -> LogBounds:
        """The log's start, end and last epoch, and the high-water mark if known."""
        return self._bounds

    def read(self, start: int) -> Iterator[LogEvent]:
        """The events from offset ``start`` to the log's end.

        Raises ``CorruptLog`` if ``start`` is before the log and no snapshot exists.
        """
        if start < self._bounds.start:
            newest = self._newest_snapshot()
            yield SnapshotNeeded(newest)
            start = newest.end_offset
        if self._bounds.high_watermark is not None:
            yield HighWatermark(self._bounds.high_watermark)
        for batch in self._batches:
            if batch.next_offset > start:
                yield Appended(batch)

    def _newest_snapshot(self) -> SnapshotId:
        if self._snapshots:
            return max(self._snapshots)
        raise CorruptLog(
            f"the log in memory begins at offset {self._bounds.start}, and no snapshot has the"
            " earlier records"
        )

    def splits(self) -> Sequence[Split]:
        """The log as one input split; empty if the log is empty."""
        return [MemorySplit(self._batches)] if self._batches else []

    def snapshots(self) -> Sequence[SnapshotId]:
        """The ids of the log's snapshots, oldest first."""
        return sorted(self._snapshots)

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]:
        """All batches of the snapshot ``id``. The caller checks header and footer."""
        return iter(self._snapshots[id])


class WritableMemoryLog:
    """A writable log in memory.

    ``bootstrap`` are the first metadata records of a new log. By default, one record sets Kafka's
    default metadata.version.
    """

    def __init__(
        self,
        batches: Iterable[Batch] = (),
        *,
        bootstrap: Sequence[tuple[Message, int]] = DEFAULT_BOOTSTRAP,
        node_id: int = 1,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._batches = list(batches)
        self._bootstrap = tuple(bootstrap)
        self._node_id = node_id
        self._now_ms = now_ms
        self._epoch: int | None = None
        self._is_closed = False
        self._news: list[LogEvent] = []

    def claim(self) -> int:
        """Become the only writer, in a new epoch; returns the epoch.

        Raises ``LogFenced`` after ``close``.
        """
        if self._is_closed:
            raise LogFenced("the log in memory was closed")
        self._epoch = self.bounds().epoch + 1
        voter = (Voter(self._node_id),)
        self._append([(LeaderChangeMessage(0, self._node_id, voter, voter), 0)], self._epoch)
        return self._epoch

    def append(self, epoch: int, records: Sequence[tuple[Message, int]]) -> int:
        """Append (message, version) pairs as one batch; returns the new end offset.

        Raises ``LogFenced`` after ``close``, or if ``epoch`` is not the epoch of the last claim.
        """
        if self._is_closed or epoch != self._epoch:
            raise LogFenced(f"epoch {epoch} of the log in memory is over")
        return self._append(records, epoch)

    def trim(self, before: SnapshotId) -> None:
        """Raises ``InvalidRequest``: this log has no snapshots."""
        raise InvalidRequest(f"there is no snapshot {before} of a log in memory")

    def bootstrap_records(self) -> Sequence[tuple[Message, int]]:
        """The first records of an empty log, as (message, version) pairs."""
        return self._bootstrap

    def close(self) -> None:
        """Release the log; it cannot be claimed again."""
        self._is_closed = True

    def bounds(self) -> LogBounds:
        """The log's start, end and last epoch, and the high-water mark if known."""
        return MemoryLog(self._batches).bounds()

    def read(self, start: int) -> Iterator[LogEvent]:
        """The events from offset ``start`` to the log's end."""
        self._news = []
        yield from MemoryLog(self._batches).read(start)

    def poll(self, timeout_s: float) -> Sequence[LogEvent]:
        """The events after the last poll or read; empty if none comes in ``timeout_s`` seconds."""
        if not self._news:
            time.sleep(timeout_s)
        news, self._news = self._news, []
        return news

    def splits(self) -> Sequence[Split]:
        """The log as one input split; empty if the log is empty."""
        return MemoryLog(self._batches).splits()

    def snapshots(self) -> Sequence[SnapshotId]:
        """Empty: this log has no snapshots."""
        return ()

    def open_snapshot(self, id: SnapshotId) -> Iterator[Batch]:
        """Raises ``InvalidRequest``: this log has no snapshots."""
        raise InvalidRequest(f"there is no snapshot {id} of a log in memory")

    def _append(self, records: Sequence[tuple[Message | ControlMessage, int]], epoch: int) -> int:
        end = self._batches[-1].next_offset if self._batches else 0
        batch = build_batch(end, epoch, self._now_ms(), records)
        self._batches.append(batch)
        self._news += HighWatermark(batch.next_offset), Appended(batch)
        return batch.next_offset


class MemorySplit(NamedTuple):
    batches: tuple[Batch, ...]

    def read(self) -> Iterator[Batch]:
        return iter(self.batches)

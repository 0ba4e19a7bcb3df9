"""Input splits and gaps of a log. One task reads one split.

This module must not know Spark, nor how splits are ordered, and it applies no record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from metalog.disk.files import LOCAL_FILES
from metalog.errors import CorruptLog
from metalog.log.folder.single_file import CheckpointLog, SegmentSplit, read_checkpoint
from metalog.log.topic.cluster import TopicCluster
from metalog.log.topic.reader import TopicLog, TopicSplit
from metalog.ports import Appended, Split
from metalog.records.batch import Batch
from metalog.records.checkpoint import check_snapshot
from metalog.text.plurals import noun_range, plural
from metalog_sources.source import open_source
from snapshot.log_range import read_range
from snapshot.reader import read_snapshot

OPEN_END: Final = 1 << 63
"""The end of a split or gap with an unknown end."""


class LogSplit(NamedTuple):
    """The records of ``split`` from offset ``start`` up to ``until`` (exclusive).

    A ``dense`` split has every offset up to ``end``, or is damaged; its ``until`` is ``end``. In
    any other split, ``end`` is approximate: the last batch can have records above ``end``.
    ``source`` is the folder, file or address.
    """

    split: Split
    start: int
    end: int
    until: int
    dense: bool
    source: str

    def batches(self) -> Iterator[Batch]:
        """The batches with at least one of the split's records. Each batch is whole.

        Raises:
            CorruptLog: the split is damaged.
        """
        reached = self.start
        file = None
        for batch in self.split.read():
            if batch.next_offset <= self.start:
                continue
            if batch.base_offset >= self.until:
                break
            if self.dense and batch.base_offset > reached:
                raise _missing(reached, batch.base_offset, batch.file)
            yield batch
            reached, file = batch.next_offset, batch.file
            if reached >= self.until:
                break
        if self.dense and reached < self.end < OPEN_END:
            raise _missing(reached, self.end, file)

    def between(self, start: int, end: int) -> Sequence[LogSplit]:
        """Splits with this split's records from offset ``start`` up to ``end``. In a topic's log, a
        batch that begins before ``start`` gets its own split."""
        if self.start >= end or self.end <= start:
            return ()
        split, begin, until = self.split, max(self.start, start), min(self.until, end)
        if isinstance(split, SegmentSplit | TopicSplit | WholeSplit):
            split = split._replace(start=begin)
        last = until if self.dense else self.end
        piece = self._replace(split=split, start=begin, end=last, until=until)
        if not isinstance(split, TopicSplit) or self.start > start:
            return (piece,)
        return piece._replace(split=HeadSplit(split.cluster, begin)), piece


class LogHole(NamedTuple):
    """The offsets from ``start`` up to ``end`` are not read, for the reason ``why``.
    ``is_damage``: a log is damaged there."""

    start: int
    end: int
    why: str
    is_damage: bool


class SnapshotSplit(NamedTuple):
    """A snapshot file as a log. A record's offset is its position in the file."""

    path: Path

    def read(self) -> Iterator[Batch]:
        log = CheckpointLog(self.path)
        deque(check_snapshot(read_snapshot(log, log.id)), maxlen=0)
        return log.open_snapshot(log.id)


class BootstrapSplit(NamedTuple):
    """The bootstrap records of a log, if none of the log's own records is read."""

    path: Path

    def read(self) -> Iterator[Batch]:
        return read_checkpoint(self.path, LOCAL_FILES)


class HeadSplit(NamedTuple):
    """In a topic's log: the batch that begins before ``offset`` and ends after it, if any."""

    cluster: TopicCluster
    offset: int

    def read(self) -> Iterator[Batch]:
        log = TopicLog(str(self.cluster.address), cluster=self.cluster)
        with closing(log):
            appended = (
                event.batch for event in log.read(self.offset) if isinstance(event, Appended)
            )
            batch = next(appended, None)
        if batch is not None and batch.base_offset < self.offset:
            yield batch


class WholeSplit(NamedTuple):
    """A log that cannot be split, such as a live quorum's. The task opens the log again.

    Raises:
        InvalidSource: the log no longer reaches ``end``.
    """

    source: str
    command_config: Path | None
    start: int
    end: int

    def read(self) -> Iterator[Batch]:
        log = open_source(self.source, environ={}, command_config=self.command_config).log
        for event in read_range(log, self.start, self.end):
            if isinstance(event, Appended):
                yield event.batch


def _missing(start: int, end: int, file: str | None) -> CorruptLog:
    verb = plural(end - start, "is", "are")
    return CorruptLog(f"{noun_range('record', start, end)} {verb} missing", file=file, offset=start)

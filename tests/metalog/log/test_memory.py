"""A log in memory obeys the laws of a log on disk."""

from __future__ import annotations

import pytest

from metalog.errors import CorruptLog
from metalog.ids import SnapshotId
from metalog.log.folder.directory import DirectoryLog
from metalog.log.memory import MemoryLog
from metalog.ports import Appended, HighWatermark, SnapshotNeeded
from metalog.records.batch import build_batch
from metalog.records.messages import NoOpRecord
from tests.support.kafka.cases import KafkaCase

NO_OP = (NoOpRecord(), 0)
FIRST, SECOND = (build_batch(offset, 1, 1000, [NO_OP] * 2) for offset in (0, 2))


def test_it_says_what_the_folder_says(kafka_case: KafkaCase) -> None:
    folder = DirectoryLog(kafka_case.log_dir)
    snapshots = {each: list(folder.open_snapshot(each)) for each in folder.snapshots()}
    bounds = folder.bounds()
    memory = MemoryLog(folder.batches(bounds.start), snapshots=snapshots)
    assert memory.bounds()[:3] == bounds[:3]
    assert list(memory.read(bounds.start)) == list(folder.read(bounds.start))
    assert list(memory.snapshots()) == list(folder.snapshots())


def test_a_read_may_begin_inside_a_batch() -> None:
    log = MemoryLog([FIRST, SECOND], high_watermark=3)
    assert list(log.read(1)) == [HighWatermark(3), Appended(FIRST), Appended(SECOND)]
    assert list(log.read(2)) == [HighWatermark(3), Appended(SECOND)]


def test_what_lies_below_it_is_in_a_snapshot() -> None:
    log = MemoryLog([SECOND], snapshots={SnapshotId(2, 1): []})
    assert list(log.read(0)) == [
        SnapshotNeeded(SnapshotId(2, 1)),
        HighWatermark(4),
        Appended(SECOND),
    ]


def test_records_below_it_that_no_snapshot_has_are_missing() -> None:
    with pytest.raises(CorruptLog, match="begins at offset 2, and no snapshot has the earlier"):
        list(MemoryLog([SECOND]).read(0))


def test_batches_that_do_not_follow_are_refused() -> None:
    with pytest.raises(CorruptLog, match="offset 0 where 4 must follow"):
        MemoryLog([FIRST, SECOND, FIRST])

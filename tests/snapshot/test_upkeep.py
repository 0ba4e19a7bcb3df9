"""A written log stays small, and records are deleted only after a durable snapshot has them."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from metalog import DirectoryLog, Loader, MetadataImage, Replica, WritableDirectoryLog
from metalog.controller.result import ControllerResult
from metalog.errors import InvalidRequest, LogFenced
from metalog.ids import SnapshotId
from metalog.loader import feed
from metalog.log.config import LogConfig, log_config
from metalog.log.folder_writer.retention import RetainedSnapshot, snapshot_to_keep
from metalog.ports import Appended, HighWatermark
from snapshot.upkeep import Upkeep
from snapshot.writer import write_snapshot
from tests.support.disk.crashing_disk import CrashingDisk
from tests.support.disk.tiny_log import ace
from tests.support.disk.written_log import formatted, image_in

SMALL = LogConfig(segment_bytes=1500, bytes_between_snapshots=2000, retention_bytes=6000)


def kept_small(folder: Path, changes: int, config: LogConfig = SMALL) -> MetadataImage:
    log = WritableDirectoryLog(folder, limits=config.segment_limits)
    with Replica(log, publishers=[Upkeep(log, config)]) as replica:
        for number in range(changes):
            records = [(ace(100 + number % 7, f"{number}-{'x' * 100}"), 0)]
            replica.submit(lambda image, r=records: ControllerResult(r, None)).result()  # type: ignore[misc]
        assert [fault.error for fault in replica.publisher_faults] == []
        return replica.image


def test_a_log_stays_within_its_limits(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "node")
    image = kept_small(folder, 100)
    partition = folder / "__cluster_metadata-0"
    size = sum(path.stat().st_size for path in partition.iterdir())
    assert size < 2 * SMALL.retention_bytes
    log = DirectoryLog(folder)
    assert log.bounds().start > 0
    assert log.bounds().start < log.snapshots()[0].end_offset
    assert image_in(folder) == image
    stems = {path.stem for path in partition.glob("*.log")}
    assert {path.stem for path in partition.glob("*index")} == stems


def test_a_clock_that_is_set_back_keeps_no_snapshot_from_being_written(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "node")
    log = WritableDirectoryLog(folder)
    hours = iter(range(1_000_000, 0, -1))
    upkeep = Upkeep(log, LogConfig(snapshot_interval_ms=1), now_ms=lambda: next(hours) * 3_600_000)
    with Replica(log, publishers=[upkeep]) as replica:
        for number in range(3):
            records = [(ace(100 + number, str(number)), 0)]
            replica.submit(lambda image, r=records: ControllerResult(r, None)).result()  # type: ignore[misc]
            time.sleep(0.005)
    assert DirectoryLog(folder).snapshots()[-1].end_offset > 0


def test_a_trimmed_log_is_written_on(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "node")
    for _ in range(3):
        image = kept_small(folder, 40)
    assert image_in(folder) == image
    assert DirectoryLog(folder).voters.ids == (1,)


def test_each_snapshot_is_the_state_at_its_offset(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "node")
    kept_small(folder, 60, SMALL._replace(retention_bytes=-1, retention_ms=-1))
    log = DirectoryLog(folder)
    assert len(log.snapshots()) > 3
    for known in log.snapshots():
        loader = Loader()
        loader.load_snapshot(known, log.open_snapshot(known))
        loader.handle(HighWatermark(known.end_offset))
        from_log = Loader()
        from_log.handle(HighWatermark(known.end_offset))
        for batch in log.batches(0):
            if batch.next_offset <= known.end_offset:
                from_log.handle(Appended(batch))
        assert loader.image == from_log.image


def test_a_log_that_is_trimmed_up_to_its_end_lacks_nothing(tmp_path: Path) -> None:
    """The epoch's start in leader-epoch-checkpoint is the log's end then. An epoch that begins
    there without a batch is newer than the log's."""
    folder = formatted(tmp_path / "node")
    log = WritableDirectoryLog(folder)
    with Replica(log) as replica:
        replica.submit(lambda image: ControllerResult([(ace(1), 0)], None)).result()
        write_snapshot(replica.image, log.folder.partition, timestamp=1)
        log.trim(log.folder.snapshots[-1])
    assert DirectoryLog(folder).leader_epochs.starts[-1].start_offset == log.bounds().end
    assert DirectoryLog(folder).problems == ()


@pytest.mark.once
def test_a_crash_at_any_step_of_a_trim_leaves_a_sound_log(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "node")
    kept_small(folder, 60, SMALL._replace(retention_bytes=-1, retention_ms=-1))
    before = image_in(folder)
    newest = DirectoryLog(folder).snapshots()[-1]
    contents = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    fail_at = 0
    while True:
        disk = CrashingDisk(contents)
        log = WritableDirectoryLog(folder, files=disk)
        log.claim()
        disk.fail_at = disk.steps + fail_at
        try:
            log.trim(newest)
        except OSError:
            pass
        else:
            break
        after = DirectoryLog(folder, files=CrashingDisk(disk.after_crash(Random(fail_at))))
        loader = Loader()
        feed(loader, after, after.read(0))
        assert loader.image.acls == before.acls
        assert after.problems == ()
        fail_at += 1
    assert fail_at > 10


def test_only_a_snapshot_that_is_there_lets_anything_go(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "node")
    log = WritableDirectoryLog(folder)
    with pytest.raises(LogFenced):
        log.trim(SnapshotId(1, 1))
    log.claim()
    with pytest.raises(InvalidRequest, match="there is no snapshot"):
        log.trim(SnapshotId(1, 1))


def test_the_newest_snapshot_stays() -> None:
    snapshots = [RetainedSnapshot(SnapshotId(offset, 1), 100, offset) for offset in (10, 20, 30)]
    no_limit = LogConfig(retention_bytes=-1, retention_ms=-1)
    oldest, middle, newest = (each.id for each in snapshots)
    for config, now, kept in (
        (no_limit, 10**15, None),
        (no_limit._replace(retention_bytes=350), 0, middle),
        (no_limit._replace(retention_bytes=0), 0, newest),
        (no_limit._replace(retention_ms=5), 16, middle),
        (no_limit._replace(retention_ms=5), 10**15, newest),
        (no_limit._replace(retention_bytes=400, retention_ms=100), 30, None),
    ):
        assert snapshot_to_keep(snapshots, {0: 100}, config, now) == kept
    assert snapshot_to_keep(snapshots[:1], {0: 10**9}, LogConfig(retention_bytes=0), 10**15) is None
    assert oldest < middle < newest


def test_a_deleted_segment_does_not_count_against_the_next_snapshot() -> None:
    """Kafka measures the log again after each deletion (``KafkaMetadataLog.cleanSnapshots``)."""
    snapshots = [RetainedSnapshot(SnapshotId(offset, 1), 1, offset) for offset in (30, 60, 105)]
    config = LogConfig(retention_bytes=100, retention_ms=-1)
    assert snapshot_to_keep(snapshots, {0: 50, 50: 60}, config, 0) == SnapshotId(60, 1)
    assert snapshot_to_keep(snapshots, {0: 50, 61: 60}, config, 0) == SnapshotId(105, 1)


def test_an_idle_log_gets_no_ops_where_they_are_known(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "node")
    with Replica(WritableDirectoryLog(folder), idle_s=0.01) as replica:
        replica.submit(lambda image: ControllerResult((), None)).result()
        before = replica.image.provenance.offset
        while replica.image.provenance.offset < before + 3:
            pass
    assert image_in(folder).acls == replica.image.acls


def test_keys_are_kafkas() -> None:
    config = log_config(
        {
            "metadata.log.segment.bytes": "16777216",
            "metadata.log.max.snapshot.interval.ms": "0",
            "metadata.max.retention.bytes": "-1",
            "other": "x",
        }
    )
    assert config == LogConfig(segment_bytes=1 << 24, snapshot_interval_ms=0, retention_bytes=-1)
    assert config.segment_limits.max_bytes == 1 << 24
    for key, value in (
        ("metadata.log.segment.bytes", "1000"),
        ("metadata.max.retention.ms", "-2"),
        ("metadata.max.idle.interval.ms", "soon"),
        ("metadata.max.idle.interval.ms", str(1 << 31)),
        ("metadata.max.retention.ms", "1_0"),
        ("metadata.max.retention.ms", str(1 << 63)),
    ):
        with pytest.raises(InvalidRequest, match=f"{key}={value}: give a whole number from "):
            log_config({key: value})

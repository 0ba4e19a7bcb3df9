"""What a writer says and does when the disk fails it, and what it is before and after a claim."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest

from metalog.errors import CorruptLog, InvalidRequest, InvalidTarget, LogFenced
from metalog.ids import SnapshotId
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder.layout import segment_name
from metalog.log.folder_writer.appender import Appender, SegmentLimits
from metalog.log.folder_writer.writer import WritableDirectoryLog
from metalog.log.quorum.voters import Quorum, quorum_records
from metalog.ports import MAX_BATCH_BYTES, Appended, HighWatermark
from metalog.records.batch import assemble_batch, build_batch, encode_batch
from metalog.records.checkpoint import encoded_snapshot, snapshot_batches
from metalog.records.messages import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    UserScramCredentialRecord,
    VotersRecord,
)
from metalog.records.record import RawRecord
from tests.support.disk.memory_disk import MemoryDisk, MemoryReadable, MemoryWritable
from tests.support.disk.tiny_log import ace, batch
from tests.support.disk.written_log import batches_in, copied, formatted

PARTITION = "__cluster_metadata-0"
FULL = "No space left on device"


class _StuckFile(MemoryWritable):
    def close(self) -> None:
        raise OSError(5, "Input/output error")


class _StuckDisk(MemoryDisk):
    """A disk whose files cannot even be closed."""

    def create(self, path: Path, *, mode: int = 0) -> MemoryWritable:
        super().create(path, mode=mode)
        return _StuckFile(self, path)

    def extend(self, path: Path, size: int) -> MemoryWritable:
        super().extend(path, size)
        return _StuckFile(self, path)


class _NoLock(MemoryDisk):
    """A disk that has no locks, for the given reason."""

    error: OSError

    def lock(self, path: Path) -> MemoryReadable:
        raise self.error


def test_a_claim_that_fails_at_any_step_says_so_and_leaves_a_reader(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    whole = MemoryDisk.of(folder)
    WritableDirectoryLog(folder, files=whole).claim()
    refused = set()
    for fail_at in range(len(whole.steps)):
        disk = MemoryDisk.of(folder)
        disk._fail_at = fail_at
        log = WritableDirectoryLog(folder, files=disk)
        with pytest.raises((InvalidTarget, LogFenced)) as error:
            log.claim()
        assert not log.is_claimed
        disk._fail_at = None
        if isinstance(error.value, LogFenced):
            fenced = f"{folder}: a write failed ({FULL}), and nothing more is written; restart to"
            assert str(error.value) == f"{fenced} check what is on the disk"
            with pytest.raises(LogFenced, match="restart to check what is on the disk"):
                log.claim()
            continue
        path, _, said = str(error.value).partition(": ")
        assert said == f"cannot be written ({FULL})"
        refused.add(path)
        assert [each for each in log.poll(0) if isinstance(each, Appended)] == []
        other = WritableDirectoryLog(folder, files=disk)
        epoch = other.claim()
        other.append(epoch, [(ace(1), 0)])
        other.close()
        appended = [each.batch for each in log.poll(0) if isinstance(each, Appended)]
        assert [each.epoch for each in appended] == [epoch, epoch]
        assert log.claim() == epoch + 1
    named = (
        folder,
        *(folder / PARTITION / name for name in ("quorum-state", "partition.metadata")),
    )
    assert set(map(str, named)) < refused


def test_an_epoch_in_quorum_state_alone_is_over_too(tmp_path: Path) -> None:
    """A node may have voted in an epoch of which its log has no batch."""
    folder = copied("basic-4.3", tmp_path / "d")
    state = folder / PARTITION / "quorum-state"
    state.write_text(state.read_text().replace('"leaderEpoch":1', '"leaderEpoch":7'))
    assert WritableDirectoryLog(folder).claim() == 8


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            OSError(30, "Read-only file system"),
            "{folder}: cannot be written (Read-only file system)",
        ),
        (OSError(13, "Denied", "/its/.lock"), "/its/.lock: cannot be written (Denied)"),
        (OSError("odd"), "{folder}: cannot be written (odd)"),
        (
            BlockingIOError(),
            "{folder}: a running node holds its .lock; stop the node, or change the running cluster"
            " (cluster://HOST:PORT)",
        ),
    ],
)
def test_a_lock_that_cannot_be_had_is_named(tmp_path: Path, error: OSError, said: str) -> None:
    folder = formatted(tmp_path / "d")
    disk = _NoLock({path: path.read_bytes() for path in folder.rglob("*") if path.is_file()})
    disk.error = error
    with pytest.raises(InvalidTarget) as refused:
        WritableDirectoryLog(folder, files=disk).claim()
    assert str(refused.value) == said.format(folder=folder)
    assert disk.steps == []


def test_a_claimed_log_is_not_claimed_by_another_until_it_is_closed(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    first = WritableDirectoryLog(folder)
    first.claim()
    with pytest.raises(InvalidTarget, match=r"holds its \.lock; stop the node"):
        WritableDirectoryLog(folder).claim()
    first.close()
    first.close()
    assert WritableDirectoryLog(folder).claim() == 2


def test_a_folder_taken_from_its_node_is_refused_with_what_to_give_instead(tmp_path: Path) -> None:
    folder = copied("basic-4.3", tmp_path / "d")
    (folder / "meta.properties").unlink()
    with pytest.raises(InvalidTarget) as refused:
        WritableDirectoryLog(folder / PARTITION).claim()
    assert str(refused.value) == (
        f"{folder / PARTITION}: not written to, because its node is unknown without"
        " meta.properties; give the metadata.log.dir of the node itself"
    )


def test_a_log_that_was_never_claimed_is_a_reader_and_can_be_closed(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    log = WritableDirectoryLog(folder)
    assert (log.is_claimed, log.torn_tail) == (False, None)
    assert log.snapshot_control == quorum_records(Quorum())
    assert log.poll(0) == []
    with pytest.raises(LogFenced, match=r": not claimed$"):
        log.trim(SnapshotId(1, 1))
    log.close()
    for refused in (log.claim, lambda: log.trim(SnapshotId(1, 1))):
        with pytest.raises(LogFenced, match=r": closed$"):
            refused()


def test_a_claimed_log_knows_its_voters_and_shows_its_snapshots(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    log = WritableDirectoryLog(folder)
    log.claim()
    kinds = [type(message) for message, _ in log.snapshot_control]
    assert kinds == [KRaftVersionRecord, VotersRecord]
    [first] = log.snapshots()
    assert list(log.open_snapshot(first)) == list(DirectoryLog(folder).open_snapshot(first))
    leader = next(iter(batches_in(folder)[0].messages()))
    assert isinstance(leader, LeaderChangeMessage)
    assert [each.voter_id for each in leader.granting_voters] == [1]


@pytest.mark.parametrize(
    ("error", "said"), [(OSError("odd"), "odd"), (KeyboardInterrupt(), "KeyboardInterrupt")]
)
def test_a_writer_is_fenced_by_whatever_broke_off_its_write(
    tmp_path: Path, error: BaseException, said: str
) -> None:
    class Broken(MemoryDisk):
        is_broken = False

        def step(self, what: str) -> None:
            if self.is_broken:
                raise error
            super().step(what)

    folder = formatted(tmp_path / "d")
    disk = Broken.of(folder)
    assert isinstance(disk, Broken)
    log = WritableDirectoryLog(folder, files=disk)
    epoch = log.claim()
    disk.is_broken = True
    with pytest.raises((LogFenced, type(error))):
        log.append(epoch, [(ace(1), 0)])
    assert not log.is_claimed
    fenced = f"{folder}: a write failed ({said}), and nothing more is written; restart to check"
    for refused in (log.claim, lambda: log.trim(SnapshotId(1, 1))):
        with pytest.raises(LogFenced) as again:
            refused()
        assert str(again.value) == f"{fenced} what is on the disk"


def test_a_file_that_cannot_be_closed_does_not_hide_why_it_was_given_up(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    disk = _StuckDisk.of(folder)
    log = WritableDirectoryLog(folder, files=disk)
    # The small files of the claim are closed too.
    disk.__class__ = MemoryDisk
    epoch = log.claim()
    disk.__class__ = _StuckDisk
    assert log._appender is not None
    log._appender._handles.append(_StuckFile(disk, folder))
    disk._fail_at = len(disk.steps)
    with pytest.raises(LogFenced, match=FULL):
        log.append(epoch, [(ace(1), 0)])


def test_indexes_that_could_not_be_finished_are_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = formatted(tmp_path / "d")
    disk = MemoryDisk.of(folder)
    log = WritableDirectoryLog(folder, files=disk)
    epoch = log.claim()
    log.append(epoch, [(ace(1), 0)])
    disk._fail_at = len(disk.steps)
    with caplog.at_level(logging.WARNING):
        log.close()
    said = f"{folder}: its indexes were not finished ([Errno 28] {FULL})"
    assert [record.getMessage() for record in caplog.records] == [said]


def test_a_torn_tail_is_warned_of_and_nothing_else_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = formatted(tmp_path / "d")
    for torn in (b"", batch(9, ace(1), epoch=9)):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            log = WritableDirectoryLog(folder)
            epoch = log.claim()
            end = log.append(epoch, [(ace(1), 0)])
            log.close()
        said = [record.getMessage() for record in caplog.records]
        assert said == ([f"cut off a torn tail: {log.torn_tail}"] if torn else [])
        if not torn:
            next_batch = encode_batch(build_batch(end, epoch, 1, [(ace(2), 0)]))
            with (folder / PARTITION / segment_name(0)).open("ab") as file:
                file.write(next_batch[:-7])


def test_an_empty_last_segment_is_filled(tmp_path: Path) -> None:
    """As of a writer that was killed just after it had begun a segment."""
    folder = formatted(tmp_path / "d")
    log = WritableDirectoryLog(folder)
    end = log.append(log.claim(), [(ace(1), 0)])
    log.close()
    (folder / PARTITION / segment_name(end)).touch()
    again = WritableDirectoryLog(folder)
    again.append(again.claim(), [(ace(2), 0)])
    again.close()
    read = DirectoryLog(folder)
    assert read.problems == ()
    assert [each.base_offset for each in read.batches(end)] == [end, end + 1]
    assert read.folder.segments == (0, end)


def test_a_log_is_trimmed_to_the_snapshot_that_replaces_its_files(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    log = WritableDirectoryLog(folder, limits=SegmentLimits(max_bytes=1))
    epoch = log.claim()
    ends = [log.append(epoch, [(ace(number), 0)]) for number in range(4)]
    snapshot = SnapshotId(ends[1], epoch)
    batches = snapshot_batches([], epoch=epoch, timestamp=1, last_contained_timestamp=0)
    path = log.folder.snapshot_path(snapshot)
    path.write_bytes(b"".join(map(encode_batch, batches)))
    before = log.folder.segments
    log.trim(snapshot)
    assert log.folder.segments == tuple(each for each in before if each >= ends[1])
    assert log.snapshots() == [snapshot]
    assert log.bounds().start == ends[1]


def test_bootstrap_records_that_are_missing_or_unreadable_are_named(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    path = folder / "bootstrap.checkpoint"
    unknown = encoded_snapshot(
        [b"\x01\xff\x7f\x00"], epoch=0, timestamp=1, last_contained_timestamp=0
    )
    path.write_bytes(b"".join(map(encode_batch, unknown)))
    with pytest.raises(CorruptLog) as refused:
        WritableDirectoryLog(folder).bootstrap_records()
    assert str(refused.value) == f"{path}: a record that cannot be read"
    path.unlink()
    with pytest.raises(InvalidTarget) as missing:
        WritableDirectoryLog(folder).bootstrap_records()
    assert str(missing.value) == (
        f"{folder}: the log has no metadata.version, and the folder has no bootstrap records;"
        " format the folder"
    )


def test_a_batch_may_be_as_large_as_kafka_reads_and_no_larger(tmp_path: Path) -> None:
    def credential(size: int) -> UserScramCredentialRecord:
        return UserScramCredentialRecord("u", 1, b"s" * size, b"", b"", 4096)

    size = MAX_BATCH_BYTES - 1000
    size += MAX_BATCH_BYTES - build_batch(0, 1, 1, [(credential(size), 0)]).size
    log = WritableDirectoryLog(formatted(tmp_path / "d"))
    epoch = log.claim()
    log.append(epoch, [(credential(size), 0)])
    limit = "bytes; Kafka reads at most 8388608 in a batch"
    with pytest.raises(InvalidRequest) as refused:
        log.append(epoch, [(credential(size + 1), 0)])
    assert str(refused.value) == f"1 record needs {MAX_BATCH_BYTES + 1} {limit}"
    with pytest.raises(InvalidRequest, match=r"^2 records need .*; send fewer records at a time$"):
        log.append(epoch, [(credential(size), 0), (ace(1), 0)])


def test_records_have_the_time_of_their_append(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    log = WritableDirectoryLog(folder)
    before = time.time_ns() // 1_000_000
    log.claim()
    after = time.time_ns() // 1_000_000
    assert before <= batches_in(folder)[0].max_timestamp <= after


def _segments(disk: MemoryDisk) -> list[str]:
    return [step.split()[1] for step in disk.steps if step.endswith(".log") and "create" in step]


def _appended(base: int, limits: SegmentLimits, *batches: tuple[int, int]) -> list[str]:
    """The segments that batches, of (offset, timestamp), are appended to."""
    disk = MemoryDisk({})
    appender = Appender(Path("/d"), base, disk, limits)
    for offset, timestamp in batches:
        record = RawRecord(0, 0, 0, None, b"x" * 10, ())
        appender.append(assemble_batch(offset, 1, timestamp, [record]))
    return _segments(disk)


def test_a_segment_is_full_only_beyond_its_limits() -> None:
    size = len(encode_batch(assemble_batch(0, 1, 5, [RawRecord(0, 0, 0, None, b"x" * 10, ())])))
    one, two = [segment_name(0)], [segment_name(0), segment_name(1)]
    both = ((0, 5), (1, 5))
    assert _appended(0, SegmentLimits(max_bytes=2 * size), *both) == one
    assert _appended(0, SegmentLimits(max_bytes=2 * size - 1), *both) == two
    assert _appended(0, SegmentLimits(max_bytes=1), *both) == two
    assert _appended(0, SegmentLimits(max_ms=10), (0, 5), (1, 15)) == one
    assert _appended(0, SegmentLimits(max_ms=10), (0, 5), (1, 16)) == two


def test_a_segment_holds_offsets_that_its_index_can_hold() -> None:
    """An index has offsets relative to its segment's first, in four signed bytes."""
    most, limits = 2**31 - 1, SegmentLimits()
    assert _appended(0, limits, (0, 5), (most, 5)) == [segment_name(0)]
    assert _appended(0, limits, (0, 5), (most + 1, 5)) == list(map(segment_name, (0, most + 1)))
    far = 3 * most
    assert _appended(far, limits, (far, 5), (far + 1, 5)) == [segment_name(far)]


def test_a_reader_of_a_claimed_log_goes_on_from_what_it_has_read(tmp_path: Path) -> None:
    log = WritableDirectoryLog(formatted(tmp_path / "d"))
    epoch = log.claim()
    log.append(epoch, [(ace(1), 0)])
    mark, *_ = log.read(0)
    end = log.append(epoch, [(ace(2), 0)])
    news = log.poll(0)
    assert mark == HighWatermark(end - 1)
    assert news[0] == HighWatermark(end)

"""Who may write a folder's log, and its contents afterwards."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metalog.disk.files import LocalFiles
from metalog.errors import CorruptLog, InvalidRequest, InvalidTarget, LogFenced
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder_writer.appender import SegmentLimits
from metalog.log.folder_writer.writer import WritableDirectoryLog
from metalog.log.quorum.voters import quorum_at
from metalog.ports import Appended, HighWatermark, WritableLog
from metalog.records.batch import assemble_batch, build_batch, encode_batch
from metalog.records.messages import (
    FeatureLevelRecord,
    KRaftVersionRecord,
    LeaderChangeMessage,
    UserScramCredentialRecord,
    VotersRecord,
)
from metalog.records.record import RawRecord
from tests.support.disk.memory_disk import MemoryDisk
from tests.support.disk.tiny_log import ace
from tests.support.disk.written_log import batches_in, copied, files_in, formatted
from tests.support.kafka.cases import kafka_case

PARTITION = "__cluster_metadata-0"


def test_it_is_a_writable_log(tmp_path: Path) -> None:
    assert isinstance(WritableDirectoryLog(formatted(tmp_path / "d")), WritableLog)
    assert not isinstance(DirectoryLog(tmp_path / "d"), WritableLog)


def test_kafkas_log_is_continued_in_the_next_epoch(tmp_path: Path) -> None:
    folder = copied("basic-4.3", tmp_path / "d")
    before = batches_in(folder)
    log = WritableDirectoryLog(folder, now_ms=lambda: 1_795_252_999_000)
    epoch = log.claim()
    end = log.append(epoch, [(ace(1), 0), (ace(2), 0)])
    log.close()

    after = batches_in(folder)
    assert after[: len(before)] == before
    leader, change = after[len(before) :]
    assert (epoch, leader.epoch, change.epoch) == (2, 2, 2)
    [message] = leader.messages()
    assert isinstance(message, LeaderChangeMessage)
    assert (message.leader_id, [each.voter_id for each in message.voters]) == (1, [1])
    assert change.messages() == [ace(1), ace(2)]
    assert end == change.next_offset
    assert {entry.timestamp for entry in change.entries()} == {1_795_252_999_000}

    read = DirectoryLog(folder)
    assert read.problems == ()
    assert read.quorum_state is not None
    assert (read.quorum_state.leader_id, read.quorum_state.leader_epoch) == (1, 2)
    assert read.leader_epochs.starts == ((1, 0), (2, leader.base_offset))


def test_the_small_files_are_written_as_kafka_writes_them(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d", dynamic=False)
    log = WritableDirectoryLog(folder, voters=[1])
    log.claim()
    log.close()
    kafkas = copied("basic-4.3", tmp_path / "kafka")
    for name in ("quorum-state", "leader-epoch-checkpoint", "partition.metadata"):
        assert (folder / PARTITION / name).read_bytes() == (kafkas / PARTITION / name).read_bytes()


def test_a_dynamic_quorums_first_batch_names_its_voters(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    for epoch in (1, 2):
        log = WritableDirectoryLog(folder)
        assert log.claim() == epoch
        log.close()
    first, second = batches_in(folder)
    assert [type(message) for message in first.messages()] == [
        LeaderChangeMessage,
        KRaftVersionRecord,
        VotersRecord,
    ]
    assert [type(message) for message in second.messages()] == [LeaderChangeMessage]
    state = (folder / PARTITION / "quorum-state").read_text()
    assert '"data_version":1' in state
    assert "currentVoters" not in state


def test_bootstrap_records_are_those_of_the_format(tmp_path: Path) -> None:
    log = WritableDirectoryLog(formatted(tmp_path / "d"))
    records = log.bootstrap_records()
    assert records[0] == (FeatureLevelRecord("metadata.version", 30), 0)
    (tmp_path / "d" / "bootstrap.checkpoint").unlink()
    log = WritableDirectoryLog(tmp_path / "d")
    with pytest.raises(InvalidTarget, match="format the folder"):
        log.bootstrap_records()


def test_bootstrap_records_are_those_of_kafka_4_4s_format(tmp_path: Path) -> None:
    """They come first in the log, as by the same node of 4.4.0."""
    case = kafka_case("unstable-4.4")
    folder = tmp_path / "d"
    (folder / PARTITION).mkdir(parents=True)
    shutil.copy(case.log_dir / "meta.properties", folder)
    first = "00000000000000000000-0000000000.checkpoint"
    shutil.copy(case.metadata_dir / first, folder / PARTITION)
    log = WritableDirectoryLog(folder)
    records = log.bootstrap_records()
    assert records[0] == (FeatureLevelRecord("metadata.version", 34), 0)
    log_of_kafka = DirectoryLog(case.log_dir)
    began = [m for batch in log_of_kafka.batches(0) for m in batch.messages()][:30]
    at = began.index(records[0][0])
    assert [message for message, _ in records] == began[at : at + len(records)]


def test_what_was_appended_is_polled(tmp_path: Path) -> None:
    log = WritableDirectoryLog(formatted(tmp_path / "d"))
    epoch = log.claim()
    assert len([event for event in log.read(0) if isinstance(event, Appended)]) == 1
    assert log.poll(0) == []
    end = log.append(epoch, [(ace(1), 0)])
    mark, appended = log.poll(0)
    assert mark == HighWatermark(end)
    assert isinstance(appended, Appended)
    assert log.bounds().high_watermark == end == log.bounds().end
    assert log.poll(0) == []


def test_before_its_claim_a_writer_reads_and_follows_as_a_reader(tmp_path: Path) -> None:
    folder = copied("basic-4.3", tmp_path / "d")
    log, reader = WritableDirectoryLog(folder), DirectoryLog(folder)
    assert list(log.read(0)) == list(reader.read(0))
    assert log.poll(0) == []
    segment = folder / PARTITION / "00000000000000000000.log"
    end = reader.bounds().end
    new = encode_batch(build_batch(end, reader.bounds().epoch, 1000, [(ace(1), 0)]))
    segment.write_bytes(segment.read_bytes() + new)
    assert [each.batch.base_offset for each in log.poll(0) if isinstance(each, Appended)] == [end]


def test_a_poll_of_a_writer_waits_only_without_news(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = WritableDirectoryLog(formatted(tmp_path / "d"))
    epoch = log.claim()
    list(log.read(0))
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    log.append(epoch, [(ace(1), 0)])
    assert len(log.poll(3.5)) == 2
    assert waited == []
    assert log.poll(3.5) == []
    assert waited == [3.5]


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("quorum-4.3/node-11", "one of 3 voters (11, 12, 13)"),
        ("dynamic-4.3/node-2-running", "one of 2 voters (1, 2)"),
    ],
)
def test_a_quorum_with_others_is_not_written_to(tmp_path: Path, case: str, why: str) -> None:
    folder = copied(case, tmp_path / "d")
    before = files_in(folder)
    with pytest.raises(InvalidTarget) as refused:
        WritableDirectoryLog(folder).claim()
    assert why in str(refused.value)
    assert "cluster://" in str(refused.value)
    assert files_in(folder) == before


def test_an_observers_copy_is_not_written_to(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d", node=2)
    with pytest.raises(InvalidTarget, match="node 2 does not vote") as refused:
        WritableDirectoryLog(folder).claim()
    assert "cluster://" in str(refused.value)


def test_nothing_is_written_where_nothing_says_who_votes(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d", dynamic=False)
    before = files_in(folder)
    for voters, why in (
        (None, "the voters of its quorum are unknown"),
        ([1, 2], "one of 2 voters"),
        ([7], "node 1 does not vote"),
    ):
        with pytest.raises(InvalidTarget, match=why):
            WritableDirectoryLog(folder, voters=voters).claim()
    assert files_in(folder) == before
    assert WritableDirectoryLog(folder, voters=[1]).claim() == 1


def test_voters_behind_an_unreadable_control_record_are_unknown(tmp_path: Path) -> None:
    """The record could name other voters than the snapshot and the configuration."""
    folder = formatted(tmp_path / "d")
    log = WritableDirectoryLog(folder)
    log.claim()
    log.close()
    end = batches_in(folder)[-1].next_offset
    unreadable = [RawRecord(0, 0, 0, b"\x00\x00\x00\x06", b"\x00", ())]
    with (folder / PARTITION / f"{0:020}.log").open("ab") as file:
        file.write(encode_batch(assemble_batch(end, 1, 0, unreadable, is_control=True)))
    before = files_in(folder)
    for voters in (None, [1]):
        with pytest.raises(InvalidTarget, match=rf"at offset {end} cannot be read") as refused:
            WritableDirectoryLog(folder, voters=voters).claim()
        assert "the voters of its quorum are unknown" in str(refused.value)
    assert files_in(folder) == before
    assert quorum_at(DirectoryLog(folder), end).voters is not None
    assert quorum_at(DirectoryLog(folder), end + 1).voters is None


def test_configured_voters_must_be_the_folders(tmp_path: Path) -> None:
    folder = copied("basic-4.3", tmp_path / "d")
    with pytest.raises(InvalidTarget, match="the configuration names the voters 1, 2"):
        WritableDirectoryLog(folder, voters=[1, 2]).claim()


def test_another_disk_of_the_voter_is_not_the_voter(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    properties = folder / "meta.properties"
    properties.write_text(properties.read_text().replace("o_4CMk", "AAAAAA"))
    with pytest.raises(InvalidTarget, match="another directory"):
        WritableDirectoryLog(folder).claim()


def test_a_folder_without_its_node_is_not_written_to(tmp_path: Path) -> None:
    folder = copied("basic-4.3", tmp_path / "d")
    (folder / "meta.properties").unlink()
    with pytest.raises(InvalidTarget, match=r"meta\.properties"):
        WritableDirectoryLog(folder).claim()
    with pytest.raises(InvalidTarget, match=r"meta\.properties"):
        WritableDirectoryLog(folder / PARTITION).claim()


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_damaged_directory_id_refuses_the_writer(tmp_path: Path, dynamic: bool) -> None:
    folder = formatted(tmp_path / "d", dynamic=dynamic)
    properties = folder / "meta.properties"
    properties.write_text(properties.read_text().replace("o_4CMk", "o_4CM\xff"))
    with pytest.raises(CorruptLog, match="not a Kafka UUID"):
        WritableDirectoryLog(folder, voters=(1,)).claim()


@pytest.mark.parametrize("name", ["leader-epoch-checkpoint", "quorum-state"])
def test_a_damaged_small_file_refuses_the_writer(tmp_path: Path, name: str) -> None:
    folder = copied("basic-4.3", tmp_path / "d")
    (folder / PARTITION / name).write_text("nonsense\n")
    before = files_in(folder)
    with pytest.raises(CorruptLog):
        WritableDirectoryLog(folder).claim()
    assert files_in(folder) == before


def test_a_damaged_segment_refuses_the_writer_until_it_is_mended(tmp_path: Path) -> None:
    folder = copied("basic-4.3", tmp_path / "d")
    segment = folder / PARTITION / f"{0:020d}.log"
    whole = segment.read_bytes()
    segment.write_bytes(whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:])
    before = files_in(folder)
    log = WritableDirectoryLog(folder)
    for _ in range(2):
        with pytest.raises(CorruptLog):
            log.claim()
        assert files_in(folder) == before
    segment.write_bytes(whole)
    epoch = log.claim()
    log.append(epoch, [(ace(1), 0)])
    log.close()
    with pytest.raises(LogFenced):
        log.claim()


def test_a_torn_tail_is_cut_off_and_told_of(tmp_path: Path) -> None:
    folder = copied("basic-4.3", tmp_path / "d")
    segment = folder / PARTITION / f"{0:020d}.log"
    whole = segment.read_bytes()
    *_, last = batches_in(folder)
    segment.write_bytes(whole[:-7])
    with pytest.raises(CorruptLog, match=r"shows record 573, which is missing"):
        WritableDirectoryLog(folder).claim()
    (folder / PARTITION / f"{574:020d}.snapshot").unlink()
    log = WritableDirectoryLog(folder)
    log.claim()
    assert log.torn_tail is not None
    assert (log.torn_tail.offset, log.torn_tail.size) == (last.base_offset, last.size - 7)
    log.close()
    assert DirectoryLog(folder).problems == ()
    assert batches_in(folder)[-1].base_offset == last.base_offset


def test_a_second_writer_is_refused_in_this_process_and_in_others(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    first = WritableDirectoryLog(folder)
    first.claim()
    with pytest.raises(InvalidTarget, match=r"holds its \.lock"):
        WritableDirectoryLog(folder).claim()
    script = (
        "import sys\nfrom metalog.log.folder_writer.writer import WritableDirectoryLog\n"
        "WritableDirectoryLog(sys.argv[1]).claim()"
    )
    other = subprocess.run(
        [sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=False
    )
    assert "holds its .lock" in other.stderr
    first.close()
    assert WritableDirectoryLog(folder).claim() == 2


def test_segments_roll_by_size_and_by_time(tmp_path: Path) -> None:
    now = [1000]
    folder = formatted(tmp_path / "d")
    limits = SegmentLimits(max_bytes=2000, max_ms=100)
    log = WritableDirectoryLog(folder, limits=limits, now_ms=lambda: now[0])
    epoch = log.claim()
    for number in range(40):
        now[0] += 1
        log.append(epoch, [(ace(number), 0)])
    sizes = [path.stat().st_size for path in sorted((folder / PARTITION).glob("*.log"))]
    assert len(sizes) > 1
    assert max(sizes) <= 2000
    now[0] += 101
    log.append(epoch, [(ace(41), 0)])
    assert len(list((folder / PARTITION).glob("*.log"))) == len(sizes) + 1
    log.close()
    assert len(batches_in(folder)) == 42
    for suffix in ("index", "timeindex"):
        assert len(list((folder / PARTITION).glob(f"*.{suffix}"))) == len(sizes) + 1


def test_an_epoch_without_a_batch_leaves_no_trace(tmp_path: Path) -> None:
    """The process died between leader-epoch-checkpoint and LEADER_CHANGE."""
    folder = copied("basic-4.3", tmp_path / "d")
    checkpoint = folder / PARTITION / "leader-epoch-checkpoint"
    end = batches_in(folder)[-1].next_offset
    checkpoint.write_text(f"0\n2\n1 0\n2 {end}\n")
    log = WritableDirectoryLog(folder)
    epoch = log.claim()
    log.close()
    assert DirectoryLog(folder).leader_epochs.starts == ((1, 0), (epoch, end))
    assert batches_in(folder)[-1].epoch == epoch


def test_a_missing_epoch_checkpoint_is_made_from_the_log(tmp_path: Path) -> None:
    folder = copied("basic-4.3", tmp_path / "d")
    (folder / PARTITION / "leader-epoch-checkpoint").unlink()
    end = batches_in(folder)[-1].next_offset
    log = WritableDirectoryLog(folder)
    log.claim()
    log.close()
    assert DirectoryLog(folder).leader_epochs.starts == ((1, 0), (2, end))


def test_a_log_that_begins_at_a_snapshot_is_continued(tmp_path: Path) -> None:
    folder = copied("trimmed-4.3", tmp_path / "d")
    log = WritableDirectoryLog(folder)
    epoch = log.claim()
    end = log.append(epoch, [(ace(1), 0)])
    log.close()
    read = DirectoryLog(folder)
    assert (read.bounds().start, read.bounds().end) == (608, end)
    assert read.problems == ()


def test_a_batch_larger_than_kafkas_is_refused_and_nothing_fenced(tmp_path: Path) -> None:
    log = WritableDirectoryLog(formatted(tmp_path / "d"))
    epoch = log.claim()
    huge = UserScramCredentialRecord("u", 1, b"s" * (9 << 20), b"", b"", 4096)
    with pytest.raises(InvalidRequest, match="at most 8388608"):
        log.append(epoch, [(huge, 0)])
    log.append(epoch, [(ace(1), 0)])


def test_an_older_epoch_is_fenced(tmp_path: Path) -> None:
    log = WritableDirectoryLog(formatted(tmp_path / "d"))
    epoch = log.claim()
    with pytest.raises(LogFenced, match="epoch 0 is over"):
        log.append(epoch - 1, [(ace(1), 0)])


def test_a_failed_write_or_sync_fences_for_good(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    trial = MemoryDisk.of(folder)
    log = WritableDirectoryLog(folder, files=trial)
    epoch = log.claim()
    claimed = len(trial.steps)
    log.append(epoch, [(ace(1), 0)])
    assert trial.steps[claimed:] == [f"write {0:020d}.log", f"sync {0:020d}.log"]
    for fail_at in range(claimed, len(trial.steps)):
        disk = MemoryDisk.of(folder)
        disk._fail_at = fail_at
        log = WritableDirectoryLog(folder, files=disk)
        epoch = log.claim()
        with pytest.raises(LogFenced, match="No space left"):
            log.append(epoch, [(ace(1), 0)])
        steps = len(disk.steps)
        with pytest.raises(LogFenced, match="nothing more is written"):
            log.append(epoch, [(ace(2), 0)])
        assert len(disk.steps) == steps


def test_what_failed_to_be_synced_is_not_shown_as_committed(tmp_path: Path) -> None:
    folder = formatted(tmp_path / "d")
    disk = MemoryDisk.of(folder)
    log = WritableDirectoryLog(folder, files=disk)
    epoch = log.claim()
    end = log.append(epoch, [(ace(1), 0)])
    disk._fail_at = len(disk.steps) + 1
    with pytest.raises(LogFenced):
        log.append(epoch, [(ace(2), 0)])
    assert DirectoryLog(folder, files=disk).bounds().end == end + 1
    mark, *appended = log.read(0)
    assert mark == HighWatermark(end)
    assert [event.batch.next_offset for event in appended if isinstance(event, Appended)][-1] == end
    assert log.poll(0) == []


LEFT = (
    "00000000000000000009-0000000001.checkpoint.part",
    "00000000000000000009-0000000001-8273645.checkpoint.part",
    "00000000000000000009-0000000001.avro.part",
    "00000000000000000009.log.part",
)
KEPT = ("notes.part", "9-1.checkpoint.part", "00000000000000000009-0000000001.part.txt")


def test_what_a_killed_writer_left_is_gone_with_the_next_claim(tmp_path: Path) -> None:
    """Our files, and those that Kafka deletes when it starts; no others."""
    folder = formatted(tmp_path / "d")
    partition = folder / PARTITION
    partition.mkdir(exist_ok=True)
    for name in (*LEFT, *KEPT):
        (partition / name).write_bytes(b"half")
    log = WritableDirectoryLog(folder)
    log.claim()
    log.close()
    assert {path.name for path in partition.glob("*part*")} - {"partition.metadata"} == set(KEPT)


def test_a_log_is_claimed_once_and_written_until_it_is_closed(tmp_path: Path) -> None:
    log = WritableDirectoryLog(formatted(tmp_path / "d"))
    with pytest.raises(LogFenced, match=r": not claimed$"):
        log.append(1, [(ace(1), 0)])
    epoch = log.claim()
    with pytest.raises(LogFenced, match=r": claimed already$"):
        log.claim()
    log.poll(0)
    ends = [log.append(epoch, [(ace(number), 0)]) for number in (1, 2)]
    events = log.poll(0)
    assert [event.offset for event in events if isinstance(event, HighWatermark)] == ends
    appended = [event.batch for event in events if isinstance(event, Appended)]
    assert [batch.messages() for batch in appended] == [[ace(1)], [ace(2)]]
    start, end, in_epoch, high_watermark, why = log.bounds()
    assert (start, end, high_watermark) == (0, ends[-1], ends[-1])
    assert (in_epoch, why) == (epoch, "no other writer exists")
    log.close()
    for refused in (lambda: log.claim(), lambda: log.append(epoch, [(ace(3), 0)])):
        with pytest.raises(LogFenced, match=r": closed$"):
            refused()


class _SyncedFolders(LocalFiles):
    """Notes the new folders, and the folders that were synced after that."""

    def __init__(self) -> None:
        self.unsynced: set[Path] = set()

    def make_folder(self, path: Path) -> None:
        self.unsynced |= {each for each in (path, *path.parents) if not each.exists()}
        super().make_folder(path)

    def sync_folder(self, folder: Path) -> None:
        self.unsynced = {each for each in self.unsynced if each.parent != folder}
        super().sync_folder(folder)


def test_a_new_logs_folder_is_on_the_disk_before_the_log(tmp_path: Path) -> None:
    folder = formatted(tmp_path, dynamic=False)
    (folder / "__cluster_metadata-0").rmdir()
    files = _SyncedFolders()
    WritableDirectoryLog(folder, voters=(1,), files=files).claim()
    assert not files.unsynced

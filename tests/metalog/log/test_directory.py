"""A metadata log's folder: where its log begins and ends, what replaces it, and what is not a
log."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from metalog.errors import CorruptLog, InvalidSource
from metalog.ids import SnapshotId
from metalog.log.folder import segment, walk
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder.layout import segment_name, snapshot_name
from metalog.log.folder.walk import SegmentWalk
from metalog.ports import Appended, HighWatermark, SnapshotNeeded, Truncated
from metalog.records.batch import LENGTH_END, Batch, batch_bytes, batch_size, decode_batch
from metalog.records.checkpoint import check_snapshot, snapshot_batches
from tests.support.disk.memory_disk import MemoryDisk
from tests.support.disk.no_op_log import FOLDER, ROOT, appended, folder, leader_change, no_ops
from tests.support.kafka.cases import KafkaCase, kafka_case


def test_bounds_and_batches_are_those_that_kafka_says(kafka_case: KafkaCase) -> None:
    log = DirectoryLog(kafka_case.log_dir)
    bounds = log.bounds()
    expected = kafka_case.json_lines("batches.jsonl")
    for name in ("summary.json", "summary-if-skipped.json"):
        if kafka_case.expects(name):
            summary = kafka_case.json(name)
            assert bounds[:2] == (summary["logStartOffset"], summary["logEndOffset"])
            assert list(map(snapshot_name, log.snapshots())) == summary["snapshots"]
    assert bounds.epoch == expected[-1]["epoch"]
    assert [
        {
            "file": Path(batch.file or "").name,
            "position": batch.position,
            "size": batch.size,
            "baseOffset": batch.base_offset,
            "lastOffset": batch.last_offset,
            "epoch": batch.epoch,
            "isControl": batch.is_control,
            "compression": batch.compression,
            "maxTimestamp": batch.max_timestamp,
            "crc": batch.crc,
        }
        for batch in appended(log.read(bounds.start))
    ] == expected
    assert log.problems == ()
    assert log.torn_tail is None


def test_splits_together_are_the_log(kafka_case: KafkaCase) -> None:
    log = DirectoryLog(kafka_case.log_dir)
    whole = appended(log.read(log.bounds().start))
    assert [batch for split in log.splits() for batch in split.read()] == whole


def test_reading_may_begin_anywhere() -> None:
    log = DirectoryLog(kafka_case("trimmed-4.3").log_dir)
    whole = appended(log.read(608))
    for start in range(608, 836):
        assert appended(log.read(start)) == [batch for batch in whole if batch.next_offset > start]


def test_a_read_goes_to_the_end_at_its_time() -> None:
    disk = folder(**{segment_name(0): no_ops(0, 3)})
    log = DirectoryLog(ROOT, files=disk)
    assert log.bounds().end == 3
    disk.contents[FOLDER / segment_name(0)] += no_ops(3, 2)
    assert [batch.base_offset for batch in appended(log.read(2))] == [2, 3, 4]
    assert log.bounds().end == 5


def test_a_damaged_log_is_read_again_once_it_is_whole() -> None:
    disk = folder(**{segment_name(0): no_ops(0, 3)})
    disk.contents[FOLDER / segment_name(0)][-1] ^= 1
    log = DirectoryLog(ROOT, files=disk)
    events = log.read(0)
    assert isinstance(next(events), Appended)
    with pytest.raises(CorruptLog):
        list(events)
    disk.contents[FOLDER / segment_name(0)][-1] ^= 1
    assert len(appended(log.read(0))) == 3


def test_a_reader_that_is_past_the_end_is_told() -> None:
    log = DirectoryLog(ROOT, files=folder(**{segment_name(0): no_ops(0, 3)}))
    assert list(log.read(9)) == [Truncated(3), HighWatermark(3)]


def test_what_lies_below_the_log_is_in_a_snapshot() -> None:
    log = DirectoryLog(kafka_case("trimmed-4.3").log_dir)
    first, mark, *_ = log.read(0)
    assert first == SnapshotNeeded(SnapshotId(723, 1))
    assert mark == HighWatermark(835)
    assert appended(log.read(0))[0].base_offset == 723


def test_the_partitions_folder_will_do(kafka_case: KafkaCase) -> None:
    by_log_dir = DirectoryLog(kafka_case.log_dir)
    by_partition = DirectoryLog(kafka_case.metadata_dir)
    assert by_partition.bounds() == by_log_dir.bounds()
    assert by_partition.meta_properties == by_log_dir.meta_properties


def test_a_partitions_folder_taken_out_has_no_owner(tmp_path: Path) -> None:
    shutil.copytree(kafka_case("basic-4.3").metadata_dir, tmp_path / "copy")
    log = DirectoryLog(tmp_path / "copy")
    assert log.bounds().end == 574
    assert log.meta_properties is None
    assert log.proven.offset == 0


@pytest.mark.parametrize(
    ("snapshot", "replaces"),
    [
        (SnapshotId(3, 1), False),
        (SnapshotId(5, 1), False),
        (SnapshotId(6, 1), True),
        (SnapshotId(3, 2), True),
        (SnapshotId(9, 0), False),
    ],
)
def test_a_snapshot_past_the_log_replaces_it(snapshot: SnapshotId, replaces: bool) -> None:
    disk = folder(**{segment_name(0): no_ops(0, 5), snapshot_name(snapshot): b""})
    log = DirectoryLog(ROOT, files=disk)
    if replaces:
        assert log.bounds()[:3] == (snapshot.end_offset, *snapshot)
        assert list(log.read(0)) == [SnapshotNeeded(snapshot), HighWatermark(snapshot.end_offset)]
        assert log.splits() == []
        assert "replaces the log" in log.problems[0]
    else:
        assert log.bounds()[:3] == (0, 5, 1)
        assert not any("replaces" in problem for problem in log.problems)


def test_an_epoch_that_ought_to_have_begun_is_missed() -> None:
    log = DirectoryLog(ROOT, files=folder(b"0\n2\n1 0\n2 5\n", **{segment_name(0): no_ops(0, 9)}))
    with pytest.raises(CorruptLog, match=r"offset 5, .* leader-epoch-checkpoint has epoch 2"):
        appended(log.read(0))


def test_a_readable_first_batch_in_the_wrong_epoch_is_not_called_another_file() -> None:
    log = DirectoryLog(ROOT, files=folder(b"0\n1\n7 0\n", **{segment_name(0): no_ops(0, 9)}))
    with pytest.raises(CorruptLog, match="leader-epoch-checkpoint has epoch 7") as caught:
        appended(log.read(0))
    assert "not a file of a metadata log" not in str(caught.value)


def test_no_snapshot_hides_damage_in_the_log_before_its_end() -> None:
    damaged = bytearray(no_ops(0, 9))
    damaged[-3] ^= 1
    log = DirectoryLog(
        ROOT,
        files=folder(
            **{
                segment_name(0): bytes(damaged) + no_ops(9, 3),
                snapshot_name(SnapshotId(10, 1)): b"",
            }
        ),
    )
    assert log.damage is not None
    assert log.damage.offset == 8
    with pytest.raises(CorruptLog, match="offset 8"):
        appended(log.read(0))


@pytest.mark.parametrize(
    ("foreign", "said"),
    [(SnapshotId(30, 1), "past the log's end at 10"), (SnapshotId(9, 1), "has epoch 2")],
)
def test_a_snapshot_that_cannot_be_of_this_log_is_left_out(foreign: SnapshotId, said: str) -> None:
    segment = no_ops(0, 5) + leader_change(5, 2) + no_ops(6, 4, epoch=2)
    names = [snapshot_name(named) for named in (SnapshotId(3, 1), foreign)]
    disk = folder(b"0\n2\n1 0\n2 5\n", **{segment_name(0): segment}, **dict.fromkeys(names, b""))
    log = DirectoryLog(ROOT, files=disk)
    assert log.snapshots() == [SnapshotId(3, 1)]
    assert log.proven.offset == 3
    [problem] = log.problems
    assert said in problem


def test_a_snapshot_may_be_newer_than_leader_epoch_checkpoint() -> None:
    segment = no_ops(0, 5) + leader_change(5, 2) + no_ops(6, 4, epoch=2)
    disk = folder(**{segment_name(0): segment, snapshot_name(SnapshotId(9, 2)): b""})
    assert DirectoryLog(ROOT, files=disk).snapshots() == [SnapshotId(9, 2)]


def test_an_empty_segment_at_a_snapshots_end_is_a_new_log() -> None:
    snapshot = SnapshotId(9, 4)
    files = {segment_name(9): b"", snapshot_name(snapshot): b""}
    log = DirectoryLog(ROOT, files=folder(b"", **files))
    assert log.bounds()[:3] == (9, *snapshot)
    assert log.problems == ()


def test_a_snapshot_without_a_log() -> None:
    log = DirectoryLog(ROOT, files=folder(**{snapshot_name(SnapshotId(7, 3)): b""}))
    assert log.bounds()[:3] == (7, 7, 3)
    assert log.problems == ()


def test_a_log_that_lost_its_snapshot_says_so() -> None:
    log = DirectoryLog(ROOT, files=folder(**{segment_name(5): no_ops(5, 2)}))
    with pytest.raises(CorruptLog, match="begins at offset 5, and no snapshot has"):
        list(log.read(0))


def test_committed_leaves_out_what_is_not_proven() -> None:
    def end(name: str) -> int:
        batches = appended(DirectoryLog(kafka_case(name).log_dir, committed=True).read(0))
        return batches[-1].next_offset if batches else 0

    assert end("quorum-4.3/node-12-uncommitted") == 0
    assert end("quorum-4.3/node-11") == 229
    assert end("basic-4.3") == 574


@pytest.mark.parametrize(
    ("name", "voters"),
    [
        ("basic-4.3", (1,)),
        ("quorum-4.3/node-11", (11, 12, 13)),
        ("dynamic-4.3/node-2-running", (1, 2)),
    ],
)
def test_voters(name: str, voters: tuple[int, ...]) -> None:
    assert DirectoryLog(kafka_case(name).log_dir).voters.ids == voters


@pytest.mark.parametrize("most", [0, 2, 1024])
def test_control_batches_are_those_of_the_whole_log(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(walk, "MOST_CONTROLS", most)
    first = leader_change(0, 1) + no_ops(1, 2) + leader_change(3, 2) + no_ops(4, 2, 2)
    last = no_ops(6, 2, 2) + leader_change(8, 3) + no_ops(9, 1, 3)
    longer = last + leader_change(10, 4) + no_ops(11, 3, 4)
    other = last + leader_change(10, 5) + leader_change(11, 6)
    disk = folder(b"0\n1\n1 0\n", **{segment_name(0): first, segment_name(6): last})
    log = DirectoryLog(ROOT, files=disk)
    for data in (last, longer, last, other):
        disk.contents[FOLDER / segment_name(6)] = bytearray(data)
        log.refresh()
        for start in range(13):
            expected = [each for each in log.batches(start) if each.is_control]
            assert list(log.control_batches(start)) == expected


def test_a_replaced_end_is_read_again_though_no_epoch_tells_of_it() -> None:
    first, old, new = leader_change(0, 1) + no_ops(1, 2), leader_change(3, 2), leader_change(3, 3)
    disk = folder(b"0\n1\n1 0\n", **{segment_name(0): first + old})
    log = DirectoryLog(ROOT, files=disk)
    assert (log.ends.end, log.ends.epoch) == (4, 2)
    for after in (b"", no_ops(4, 2, 3)):
        disk.contents[FOLDER / segment_name(0)] = bytearray(first + new + after)
        log.refresh()
        afresh = DirectoryLog(ROOT, files=disk)
        assert log.ends == afresh.ends
        assert list(log.control_batches(0)) == list(afresh.control_batches(0))


def test_a_log_is_read_once_for_its_end_and_its_voters(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = folder(**{segment_name(0): leader_change(0, 1) + no_ops(1, 5)})
    log = DirectoryLog(ROOT, files=disk)
    assert log.bounds().end == 6
    monkeypatch.setattr(SegmentWalk, "__iter__", None)
    assert log.proven.why
    assert log.voters.why == "LEADER_CHANGE at offset 0"


@pytest.mark.parametrize("name", ["quorum-state", "partition.metadata"])
def test_a_damaged_small_file_is_a_problem_and_no_more(name: str) -> None:
    disk = folder(**{segment_name(0): no_ops(0, 5), name: b"\xff"})
    log = DirectoryLog(ROOT, files=disk)
    assert len(appended(log.read(0))) == 5
    assert len(log.problems) == 1
    assert log.problems[0].startswith(f"{FOLDER / name}: not a {name}")


def test_damaged_leader_epochs_stop() -> None:
    with pytest.raises(CorruptLog, match="a copy of the folder without this file"):
        DirectoryLog(ROOT, files=folder(b"0\n1\n"))


def test_a_quorum_state_older_than_the_log_is_a_problem() -> None:
    state = b'{"leaderId":1,"leaderEpoch":0,"data_version":1}'
    disk = folder(**{segment_name(0): no_ops(0, 5), "quorum-state": state})
    assert "not copied at the same time" in DirectoryLog(ROOT, files=disk).problems[0]


def test_an_epoch_past_the_logs_end_is_a_problem() -> None:
    disk = folder(b"0\n2\n1 0\n2 7\n", **{segment_name(0): no_ops(0, 5)})
    [problem] = DirectoryLog(ROOT, files=disk).problems[:1]
    assert "starts epoch 2 at offset 7, past the log's end at 5" in problem


def test_a_formatted_folder_shows_its_bootstrap_records(tmp_path: Path) -> None:
    case = kafka_case("basic-4.3")
    for name in ("meta.properties", "bootstrap.checkpoint"):
        shutil.copy(case.log_dir / name, tmp_path)
    log = DirectoryLog(tmp_path)
    assert log.bounds()[:2] == (0, 0)
    bootstrap = log.bootstrap()
    assert bootstrap is not None
    assert sum(batch.record_count for batch in bootstrap) == len(
        case.json_lines("bootstrap.records.jsonl")
    )
    assert DirectoryLog(case.log_dir).bootstrap() is None
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bootstrap.checkpoint",
        "meta.properties",
    ]


NEWEST = kafka_case("unstable-4.4")
FIRST_SNAPSHOT = "00000000000000000000-0000000000.checkpoint"


def formatted_by_4_4(folder: Path) -> Path:
    """A folder before its first start; returns its snapshot of offset 0."""
    (folder / "__cluster_metadata-0").mkdir(parents=True)
    shutil.copy(NEWEST.log_dir / "meta.properties", folder)
    return Path(shutil.copy(NEWEST.metadata_dir / FIRST_SNAPSHOT, folder / "__cluster_metadata-0"))


def test_a_folder_that_4_4_formatted_shows_the_records_of_its_first_snapshot(
    tmp_path: Path,
) -> None:
    """They come before those of a bootstrap.checkpoint, unless it has none (4.4.0)."""
    first = formatted_by_4_4(tmp_path)
    log = DirectoryLog(tmp_path)
    assert log.bounds()[:2] == (0, 0)
    assert log.bootstrap_path == first
    bootstrap = log.bootstrap()
    assert bootstrap is not None
    name = FIRST_SNAPSHOT.removesuffix(".checkpoint")
    expected = NEWEST.json_lines(f"snapshot-{name}.records.jsonl")
    assert sum(batch.record_count for batch in bootstrap) == len(expected)
    shutil.copy(kafka_case("basic-4.3").log_dir / "bootstrap.checkpoint", tmp_path)
    assert DirectoryLog(tmp_path).bootstrap_path == first
    control_only = snapshot_batches((), epoch=0, timestamp=1, last_contained_timestamp=1)
    first.write_bytes(b"".join(map(batch_bytes, control_only)))
    assert DirectoryLog(tmp_path).bootstrap_path == tmp_path / "bootstrap.checkpoint"
    assert DirectoryLog(NEWEST.log_dir).bootstrap() is None


@pytest.mark.parametrize("kept", [0, 40, 83, 200, 526])
def test_a_first_snapshot_that_is_damaged_is_refused_where_it_counts(
    tmp_path: Path, kept: int
) -> None:
    """A folder that was started has these records in its log."""
    first = formatted_by_4_4(tmp_path / "formatted")
    shutil.copytree(NEWEST.log_dir, tmp_path / "started")
    for path in (first, tmp_path / "started" / "__cluster_metadata-0" / FIRST_SNAPSHOT):
        path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(CorruptLog, match=r"0{10}\.checkpoint"):
        DirectoryLog(tmp_path / "formatted").bootstrap()
    started = DirectoryLog(tmp_path / "started")
    assert (started.problems, started.bootstrap()) == ((), None)
    assert started.voters == DirectoryLog(NEWEST.log_dir).voters


def test_no_bit_of_a_first_snapshot_changes_what_a_cluster_begins_with(tmp_path: Path) -> None:
    """A flipped bit is refused or changes nothing: tests every thirteenth bit, so some bit of each
    byte."""
    first = formatted_by_4_4(tmp_path)
    disk = MemoryDisk.of(tmp_path)
    began = first_messages(disk, tmp_path)
    data = disk.contents[first]
    refused = 0
    bits = range(0, len(data) * 8, 13)
    for bit in bits:
        data[bit >> 3] ^= 1 << (bit & 7)
        try:
            assert first_messages(disk, tmp_path) == began
        except CorruptLog:
            refused += 1
        data[bit >> 3] ^= 1 << (bit & 7)
    assert refused > 0.95 * len(bits)


def first_messages(disk: MemoryDisk, folder: Path) -> list[object]:
    batches = DirectoryLog(folder, files=disk).bootstrap()
    assert batches is not None
    whole = check_snapshot(batches, epoch=0)
    return [message for batch in whole for message in batch.messages()]


class TestNoLog:
    def refused(self, path: Path) -> str:
        with pytest.raises(InvalidSource) as caught:
            DirectoryLog(path)
        return str(caught.value)

    def test_missing(self, tmp_path: Path) -> None:
        assert "no such folder" in self.refused(tmp_path / "missing")

    def test_empty(self, tmp_path: Path) -> None:
        assert "empty folder" in self.refused(tmp_path)

    def test_other_things(self, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("")
        assert "not a metadata log" in self.refused(tmp_path)

    def test_an_ordinary_topic(self, tmp_path: Path) -> None:
        topic = tmp_path / "orders-0"
        topic.mkdir()
        (topic / segment_name(0)).write_bytes(no_ops(0, 1))
        metadata = "version: 0\ntopic_id: GZLvHORhRneNa4vO_PHYDA"
        (topic / "partition.metadata").write_text(metadata)
        assert "ordinary topic" in self.refused(topic)

    def test_a_refused_permission(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        def refuse(path: Path) -> list[str]:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(os, "listdir", refuse)
        assert "no permission" in self.refused(tmp_path)


class TestPoll:
    def following(self, disk: MemoryDisk) -> DirectoryLog:
        log = DirectoryLog(ROOT, files=disk)
        list(log.read(0))
        assert log.poll(0) == []
        return log

    def test_appended_batches_come_once(self) -> None:
        disk = folder(**{segment_name(0): no_ops(0, 3)})
        log = self.following(disk)
        disk.contents[FOLDER / segment_name(0)] += no_ops(3, 2)
        mark, *batches = log.poll(0)
        assert mark == HighWatermark(5)
        assert [batch.base_offset for batch in appended(batches)] == [3, 4]
        assert log.poll(0) == []
        assert log.bounds().end == 5

    def test_a_batch_comes_when_it_is_whole(self) -> None:
        disk = folder(**{segment_name(0): no_ops(0, 3)})
        log = self.following(disk)
        more = no_ops(3, 1)
        disk.contents[FOLDER / segment_name(0)] += more[:40]
        assert log.poll(0) == []
        assert log.torn_tail is not None
        disk.contents[FOLDER / segment_name(0)] += more[40:]
        assert [batch.base_offset for batch in appended(log.poll(0))] == [3]
        assert log.torn_tail is None

    def test_rolled_segments_are_followed(self) -> None:
        disk = folder(**{segment_name(0): no_ops(0, 3)})
        log = self.following(disk)
        disk.contents[FOLDER / segment_name(0)] += no_ops(3, 1)
        disk.contents[FOLDER / segment_name(4)] = bytearray(no_ops(4, 2))
        assert [batch.base_offset for batch in appended(log.poll(0))] == [3, 4, 5]
        disk.contents[FOLDER / segment_name(4)] += no_ops(6, 1)
        assert [batch.base_offset for batch in appended(log.poll(0))] == [6]

    def test_a_first_segment_may_come_late(self) -> None:
        disk = folder(b"")
        disk.contents[ROOT / "meta.properties"] = bytearray(b"node.id=1\n")
        log = self.following(disk)
        disk.contents[FOLDER / segment_name(0)] = bytearray(no_ops(0, 2))
        assert [batch.base_offset for batch in appended(log.poll(0))] == [0, 1]

    def test_a_new_leader_truncates(self) -> None:
        disk = folder(**{segment_name(0): no_ops(0, 5)})
        log = self.following(disk)
        disk.contents[FOLDER / segment_name(0)][:] = (
            no_ops(0, 3) + leader_change(3, 2) + no_ops(4, 3, epoch=2)
        )
        disk.contents[FOLDER / "leader-epoch-checkpoint"][:] = b"0\n2\n1 0\n2 3\n"
        events = log.poll(0)
        assert events[0] == Truncated(3)
        assert [batch.base_offset for batch in appended(list(events))] == [3, 4, 5, 6]

    def test_a_shorter_file_was_truncated(self) -> None:
        disk = folder(**{segment_name(0): no_ops(0, 5)})
        log = self.following(disk)
        disk.contents[FOLDER / segment_name(0)][:] = no_ops(0, 3)
        assert log.poll(0) == [Truncated(3)]
        assert log.poll(0) == []

    def test_a_snapshot_may_replace_the_log(self) -> None:
        disk = folder(**{segment_name(0): no_ops(0, 5)})
        log = self.following(disk)
        del disk.contents[FOLDER / segment_name(0)]
        disk.contents[FOLDER / snapshot_name(SnapshotId(9, 2))] = bytearray()
        disk.contents[FOLDER / segment_name(9)] = bytearray()
        assert log.poll(0) == [SnapshotNeeded(SnapshotId(9, 2))]
        assert log.poll(0) == []
        disk.contents[FOLDER / segment_name(9)] += no_ops(9, 1, epoch=2)
        assert [batch.base_offset for batch in appended(log.poll(0))] == [9]

    def test_it_waits_no_longer_than_asked(self) -> None:
        log = self.following(folder(**{segment_name(0): no_ops(0, 1)}))
        assert log.poll(0.05) == []


def test_batches_before_the_wanted_one_are_passed_by_their_lengths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoded: list[int] = []

    def counted(*arguments: Any, **words: Any) -> Batch:
        batch = decode_batch(*arguments, **words)
        decoded.append(batch.base_offset)
        return batch

    log = DirectoryLog(ROOT, files=folder(**{segment_name(0): no_ops(0, 5000)}))
    assert log.bounds().end == 5000
    monkeypatch.setattr(segment, "decode_batch", counted)
    assert [batch.base_offset for batch in log.batches(4997)] == [4997, 4998, 4999] == decoded


@pytest.mark.once
def test_no_flipped_offset_or_length_of_an_earlier_batch_changes_what_is_read() -> None:
    """If a length leads astray, the walk from the beginning reports the fault as usual."""
    whole = no_ops(0, 8)
    size = batch_size(whole) or 0
    for at in range(5 * LENGTH_END * 8):
        data = bytearray(whole)
        data[at // 8 // LENGTH_END * size + at // 8 % LENGTH_END] ^= 1 << at % 8
        # A second segment: of the last one each bit is checked anyway.
        disk = folder(**{segment_name(0): bytes(data), segment_name(8): no_ops(8, 1)})
        try:
            found = [each.base_offset for each in DirectoryLog(ROOT, files=disk).batches(5)]
        except CorruptLog:
            continue
        assert found == [5, 6, 7, 8]

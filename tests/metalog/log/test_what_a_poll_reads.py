"""A reader that follows a folder reads what is new, once, and names each fault that it meets."""

from __future__ import annotations

from pathlib import Path
from threading import Timer

import pytest

from metalog.errors import CorruptLog, InvalidSource
from metalog.ids import SnapshotId
from metalog.log.folder import walk
from metalog.log.folder.commit import NOT_ON_DISK
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder.extent import LogExtent, find_extents
from metalog.log.folder.layout import index_name, segment_name, snapshot_name, time_index_name
from metalog.log.folder.segment import TornTail
from metalog.log.folder.walk import position_before
from metalog.ports import HighWatermark, SnapshotNeeded, Truncated
from metalog.records.batch import HEADER_SIZE
from tests.support.disk.memory_disk import MemoryDisk, MemoryReadable
from tests.support.disk.no_op_log import FOLDER, ROOT, appended, folder, leader_change, no_ops

SEGMENT = FOLDER / segment_name(0)
MANY = 1500


class CountedDisk(MemoryDisk):
    """Counts the bytes of segments that are read."""

    def __init__(self, disk: MemoryDisk) -> None:
        super().__init__({path: bytes(data) for path, data in disk.contents.items()})
        self.read = 0

    def open(self, path: Path) -> MemoryReadable:
        disk, file = self, super().open(path)

        class Counted(MemoryReadable):
            def read_at(self, position: int, size: int) -> bytes:
                found = super().read_at(position, size)
                disk.read += len(found) if path.suffix == ".log" else 0
                return found

        return Counted(file.data)


class RefusingDisk(MemoryDisk):
    """The system reads no segment, without saying which file it means."""

    def open(self, path: Path) -> MemoryReadable:
        if path.suffix == ".log" and self.is_refusing:
            raise OSError(5, "Input/output error")
        return super().open(path)

    is_refusing = False


def following(disk: MemoryDisk, *, committed: bool = False) -> DirectoryLog:
    log = DirectoryLog(ROOT, files=disk, committed=committed)
    list(log.read(0))
    assert log.poll(0) == []
    return log


@pytest.mark.parametrize("base", [0, MANY], ids=["one segment", "two segments"])
def test_a_poll_reads_the_new_batches_and_no_earlier_one(base: int) -> None:
    files = {segment_name(0): no_ops(0, MANY)} | ({segment_name(base): b""} if base else {})
    disk = CountedDisk(folder(**files))
    log = following(disk)
    for offset in (MANY, MANY + 1):
        disk.read = 0
        assert log.poll(0) == []
        assert disk.read < 200
        new = no_ops(offset, 1)
        disk.contents[FOLDER / segment_name(base)] += new
        disk.read = 0
        assert [batch.base_offset for batch in appended(list(log.poll(0)))] == [offset]
        assert disk.read < 8 * len(new)


def test_a_new_leader_at_the_end_needs_no_earlier_batch() -> None:
    disk = CountedDisk(folder(**{segment_name(0): no_ops(0, MANY)}))
    log = following(disk)
    disk.contents[SEGMENT] += leader_change(MANY, 2)
    disk.contents[FOLDER / "leader-epoch-checkpoint"][:] = f"0\n2\n1 0\n2 {MANY}\n".encode()
    disk.read = 0
    assert [batch.base_offset for batch in appended(list(log.poll(0)))] == [MANY]
    assert disk.read < 1000


@pytest.mark.parametrize("is_cut", [False, True], ids=["appended", "after a truncation"])
def test_a_poll_has_a_bounded_number_of_batches_and_the_next_one_the_rest(is_cut: bool) -> None:
    disk = folder(**{segment_name(0): no_ops(0, 5)})
    log = following(disk)
    kept = 3 if is_cut else 5
    epoch = 2 if is_cut else 1
    new = leader_change(kept, 2) if is_cut else no_ops(kept, 1)
    disk.contents[SEGMENT][:] = no_ops(0, kept) + new + no_ops(kept + 1, MANY, epoch)
    if is_cut:
        disk.contents[FOLDER / "leader-epoch-checkpoint"][:] = b"0\n2\n1 0\n2 3\n"
    found = []
    while events := list(log.poll(0)):
        assert len(appended(events)) <= 1000
        found += [batch.base_offset for batch in appended(events)]
    assert found == list(range(kept, kept + 1 + MANY))


def test_records_of_the_old_epoch_come_before_those_of_a_new_one() -> None:
    disk = folder(**{segment_name(0): no_ops(0, 3)})
    log = following(disk)
    disk.contents[SEGMENT] += no_ops(3, 2) + leader_change(5, 2) + no_ops(6, 1, 2)
    disk.contents[FOLDER / "leader-epoch-checkpoint"][:] = b"0\n2\n1 0\n2 5\n"
    events = list(log.poll(0))
    assert Truncated(3) not in events
    assert [batch.base_offset for batch in appended(events)] == [3, 4, 5, 6]


def test_a_follower_of_the_committed_part_gets_no_more() -> None:
    disk = folder(**{segment_name(0): no_ops(0, 3), snapshot_name(SnapshotId(2, 1)): b""})
    log = following(disk, committed=True)
    disk.contents[SEGMENT] += no_ops(3, 4)
    assert log.poll(0) == []
    disk.contents[FOLDER / snapshot_name(SnapshotId(4, 1))] = bytearray()
    assert [batch.base_offset for batch in appended(list(log.poll(0)))] == [2, 3]


def test_batches_appended_between_a_read_and_a_refresh_are_polled() -> None:
    disk = folder(**{segment_name(0): no_ops(0, 3)})
    log = DirectoryLog(ROOT, files=disk)
    assert list(log.read(3)) == [HighWatermark(3)], "offset 3 is the end, and nothing was cut"
    disk.contents[SEGMENT] += no_ops(3, 2)
    log.refresh()
    assert [batch.base_offset for batch in appended(list(log.poll(0)))] == [3, 4]


def test_a_poll_waits_for_the_next_batch() -> None:
    disk = folder(**{segment_name(0): no_ops(0, 3)})
    log = following(disk)
    timer = Timer(0.05, lambda: disk.contents[SEGMENT].extend(no_ops(3, 1)))
    timer.start()
    assert [batch.base_offset for batch in appended(list(log.poll(60)))] == [3]
    timer.join()


def test_a_falling_epoch_is_damage_where_a_reader_goes_on() -> None:
    disk = folder(b"0\n0\n", **{segment_name(0): no_ops(0, 3, 4)})
    log = following(disk)
    disk.contents[SEGMENT] += no_ops(3, 1, 3)
    with pytest.raises(CorruptLog, match="the epoch falls from 4 to 3"):
        log.poll(0)


def test_a_replaced_end_is_seen_after_polls_without_news() -> None:
    first = leader_change(0, 1) + no_ops(1, 2)
    disk = folder(b"0\n1\n1 0\n", **{segment_name(0): first + leader_change(3, 2)})
    log = following(disk)
    assert log.poll(0) == []
    disk.contents[SEGMENT] = bytearray(first + leader_change(3, 3))
    log.refresh()
    assert log.ends.epoch == 3


def test_control_batches_are_kept_up_to_a_number_and_a_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(walk, "MOST_CONTROLS", 3)
    disk = folder(b"0\n0\n", **{segment_name(0): leader_change(0, 1) + leader_change(1, 2)})
    log = DirectoryLog(ROOT, files=disk)
    assert len(log.ends.controls or ()) == 2
    disk.contents[SEGMENT] += leader_change(2, 3)
    log.refresh()
    assert len(log.ends.controls or ()) == 3
    disk.contents[SEGMENT] += leader_change(3, 4)
    log.refresh()
    assert log.ends.controls is None
    size = len(leader_change(0, 1))
    for largest, kept in ((size, 1), (size - 1, None)):
        monkeypatch.setattr(walk, "LARGEST_CONTROL", largest)
        again = DirectoryLog(ROOT, files=folder(**{segment_name(0): leader_change(0, 1)}))
        assert (None if again.ends.controls is None else len(again.ends.controls)) == kept


def test_a_control_batch_where_the_last_segment_begins_comes_once() -> None:
    first, last = no_ops(0, 3), leader_change(3, 2) + no_ops(4, 1, 2)
    log = DirectoryLog(
        ROOT, files=folder(b"0\n0\n", **{segment_name(0): first, segment_name(3): last})
    )
    assert [batch.base_offset for batch in log.control_batches(0)] == [3]


def test_earlier_batches_are_left_out_where_the_reader_begins_at_the_file_s_start() -> None:
    torn = no_ops(3, 1)[:-1]
    assert len(torn) >= HEADER_SIZE
    log = DirectoryLog(ROOT, files=folder(**{segment_name(0): no_ops(0, 3) + torn}))
    assert [batch.base_offset for batch in log.batches(2)] == [2]
    assert log.torn_tail == TornTail(str(SEGMENT), len(no_ops(0, 3)), len(torn), 3)


def test_a_log_that_a_snapshot_replaces_has_no_batches() -> None:
    with_segment = folder(**{segment_name(0): no_ops(0, 3), snapshot_name(SnapshotId(9, 2)): b""})
    for disk in (with_segment, folder(**{snapshot_name(SnapshotId(9, 2)): b""})):
        assert list(DirectoryLog(ROOT, files=disk).batches(0)) == []


def test_an_empty_segment_behind_an_older_snapshot_begins_in_no_epoch() -> None:
    alone = DirectoryLog(ROOT, files=folder(b"0\n0\n", **{segment_name(0): b""}))
    assert (alone.ends.end, alone.ends.epoch) == (0, 0)
    files = {segment_name(5): b"", snapshot_name(SnapshotId(3, 1)): b""}
    behind = DirectoryLog(ROOT, files=folder(b"0\n0\n", **files))
    assert behind.ends.replaced_by == SnapshotId(3, 1)


def test_bootstrap_records_stand_for_a_log_without_records_only() -> None:
    disk = folder(**{segment_name(0): b""})
    disk.contents[ROOT / "bootstrap.checkpoint"] = bytearray()
    log = DirectoryLog(ROOT, files=disk)
    assert log.bootstrap() is not None
    assert log.bounds().why == NOT_ON_DISK
    disk.contents[SEGMENT] += no_ops(0, 1)
    log.refresh()
    assert log.bootstrap() is None


def test_a_split_expects_its_segments_offset() -> None:
    files = {segment_name(0): no_ops(0, 5), segment_name(5): no_ops(6, 1)}
    [_, second] = DirectoryLog(ROOT, files=folder(b"0\n0\n", **files)).splits()
    with pytest.raises(CorruptLog, match="offset 6 where 5 must follow"):
        list(second.read())


def test_a_missing_or_overlapping_segment_is_named_with_its_offset() -> None:
    for base, offset in ((7, 5), (3, 3)):
        path = FOLDER / segment_name(base)
        files = {segment_name(0): no_ops(0, 5), segment_name(base): no_ops(base, 4)}
        log = DirectoryLog(ROOT, files=folder(b"0\n0\n", **files))
        with pytest.raises(CorruptLog) as error:
            list(log.batches(0))
        assert (error.value.file, error.value.offset) == (str(path), offset)


def test_a_log_without_the_snapshot_before_it_names_its_folder() -> None:
    log = DirectoryLog(ROOT, files=folder(b"0\n0\n", **{segment_name(5): no_ops(5, 2)}))
    with pytest.raises(CorruptLog) as error:
        list(log.read(0))
    assert error.value.file == str(FOLDER)


def test_a_segment_that_the_system_does_not_read_is_named() -> None:
    disk = RefusingDisk(
        folder(**{segment_name(0): no_ops(0, 5)}).contents  # type: ignore[arg-type]
    )
    log = DirectoryLog(ROOT, files=disk)
    assert log.bounds().end == 5
    disk.is_refusing = True
    why = r": cannot be read \(Input/output error\)$"
    with pytest.raises(InvalidSource, match=f"^{ROOT}{why}"):
        log.refresh()
    with pytest.raises(InvalidSource, match=f"^{SEGMENT}{why}"):
        DirectoryLog(ROOT, files=disk).bounds()
    with pytest.raises(InvalidSource, match=f"^{SEGMENT}{why}"):
        position_before(log.folder, disk, 3)


@pytest.mark.parametrize(
    ("epochs", "shown"),
    [
        (b"0\n2\n1 0\n2 3\n", 3),
        (b"0\n1\n1 3\n", None),
        (b"0\n1\n1 0\n", None),
        (b"0\n3\n1 0\n2 3\n3 5\n", None),
    ],
    ids=["begins at the end", "trimmed", "goes on", "begins past the end"],
)
def test_an_epoch_that_begins_at_the_end_suggests_a_lost_record(
    epochs: bytes, shown: int | None
) -> None:
    log = DirectoryLog(ROOT, files=folder(epochs, **{segment_name(0): no_ops(0, 3)}))
    missing = log.may_be_missing
    assert (missing is None) == (shown is None)
    if missing is not None:
        assert missing.file == str(FOLDER / "leader-epoch-checkpoint")
        assert f"it shows record {shown}, which is missing" in str(missing)


def test_an_epoch_in_an_empty_log_suggests_a_lost_record() -> None:
    log = DirectoryLog(ROOT, files=folder(b"0\n1\n1 0\n", **{segment_name(0): b""}))
    assert log.may_be_missing is not None


def test_damage_is_not_reported_as_a_lost_end_too() -> None:
    damaged = bytearray(no_ops(0, 3))
    damaged[-1] ^= 1
    files = {segment_name(0): bytes(damaged), "00000000000000000009.snapshot": b""}
    log = DirectoryLog(ROOT, files=folder(**files))
    assert log.damage is not None
    assert log.missing is None


@pytest.mark.parametrize(
    ("id", "problem"),
    [
        (SnapshotId(4, 2), None),
        (SnapshotId(3, 1), None),
        (SnapshotId(2, 2), "it ends in epoch 2, where leader-epoch-checkpoint has epoch 1; it"),
        (SnapshotId(9, 1), "it ends past the log's end at 5, and in an older epoch; it is"),
    ],
)
def test_a_snapshot_fits_the_epochs_before_its_end(id: SnapshotId, problem: str | None) -> None:
    segment = no_ops(0, 3) + leader_change(3, 2) + no_ops(4, 1, 2)
    files = {segment_name(0): segment, snapshot_name(id): b""}
    log = DirectoryLog(ROOT, files=folder(b"0\n2\n1 0\n2 3\n", **files))
    assert log.snapshots() == ([] if problem else [id])
    if problem is not None:
        ignored = "is ignored" if problem.endswith("it") else "ignored"
        path = FOLDER / snapshot_name(id)
        assert log.problems == (f"{path}: {problem} {ignored}, because it belongs to another log",)


def test_extents_are_those_of_names_and_of_the_last_entries_of_indexes() -> None:
    base, later = segment_name(3), segment_name(8)
    producers = "00000000000000000006.snapshot"
    empty, orphan, times = index_name(3), index_name(20), time_index_name(3)
    disk = folder(
        **{
            base: no_ops(3, 1),
            producers: b"",
            empty: b"",
            orphan: b"",
            times: (1000).to_bytes(8) + (0x58585858).to_bytes(4) + bytes(24),
        }
    )
    names = disk.names(FOLDER)
    assert set(find_extents(FOLDER, names, disk)) == {
        LogExtent(3, str(FOLDER / base), True),
        LogExtent(6, str(FOLDER / producers), True),
        LogExtent(21, str(FOLDER / orphan), False),
        LogExtent(3, str(FOLDER / empty), False),
        LogExtent(3 + 0x58585858 + 1, str(FOLDER / times), False),
    }
    disk.contents[FOLDER / later] = bytearray()
    limited = find_extents(FOLDER, disk.names(FOLDER), disk, 3)
    assert LogExtent(8, str(FOLDER / later), True) in limited
    assert LogExtent(21, str(FOLDER / orphan), False) not in limited


def test_an_entry_of_an_index_may_have_any_bytes() -> None:
    entry = b"XXXX" + b"XXXX"
    disk = folder(**{segment_name(0): b"", index_name(0): entry + bytes(16)})
    found = find_extents(FOLDER, disk.names(FOLDER), disk)
    assert LogExtent(0x58585858 + 1, str(FOLDER / index_name(0)), False) in found


def test_an_index_alone_shows_a_lost_segment() -> None:
    disk = folder(**{index_name(0): b""})
    assert find_extents(FOLDER, disk.names(FOLDER), disk) == (
        LogExtent(1, str(FOLDER / index_name(0)), False),
    )


def test_a_new_snapshot_moves_a_follower_that_is_behind_the_log_s_start() -> None:
    disk = folder(**{segment_name(0): no_ops(0, 5)})
    log = following(disk)
    del disk.contents[SEGMENT]
    disk.contents[FOLDER / snapshot_name(SnapshotId(9, 1))] = bytearray()
    disk.contents[FOLDER / segment_name(9)] = bytearray(no_ops(9, 2))
    first, *rest = log.poll(0)
    assert first == SnapshotNeeded(SnapshotId(9, 1))
    assert [batch.base_offset for batch in appended(rest)] == [9, 10]

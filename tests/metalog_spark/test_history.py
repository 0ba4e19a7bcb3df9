"""Lifetimes of ACLs in an archive: as in ``metalog history`` of one log, and across gaps."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from authorizer.history.timeline import Edge, lifetimes
from metalog.errors import CorruptLog, InvalidSource
from metalog.loader.other_kafka import foreign_traces
from metalog.log.folder.directory import DirectoryLog
from metalog.records.batch import assemble_batch, batch_bytes, build_batch
from metalog.records.messages import (
    FeatureLevelRecord,
    LeaderChangeMessage,
    RemoveAccessControlEntryRecord,
)
from metalog.records.record import RawRecord
from metalog_sources.moment import AtOffset
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from metalog_spark.history.archive import Logs, Unproven
from metalog_spark.history.archive_history import ArchiveHistory, HistoryRange, history_of, scan
from metalog_spark.history.splits import LogSplit
from shell.tasks.history import history_of as history_in_the_shell
from tests.support.disk.archive_folders import ArchiveFolder
from tests.support.disk.tiny_log import ABORT, BEGIN, END, NOTHING, ace, uuid, values
from tests.support.kafka.cases import KafkaCase, kafka_case


def told(
    source: Path | str, *, skip_damaged: bool = False, committed: bool = False
) -> ArchiveHistory:
    archive = Logs(str(source), environ=os.environ, committed=committed).look()
    pieces = enumerate(archive.parts)
    scanned = {number: scan(part) for number, part in pieces if isinstance(part, LogSplit)}
    return history_of(archive, scanned, skip_damaged=skip_damaged)


def test_as_the_history_of_one_log_has_it(kafka_case: KafkaCase) -> None:
    """It ends at a record that may bind an ACL and is unreadable."""
    if kafka_case.is_invalid:
        with pytest.raises(CorruptLog):
            told(kafka_case.log_dir)
        return
    state = replay_source(open_source(str(kafka_case.log_dir), environ={}), tolerant=True)
    unread = {*state.skipped, *(doubt.reason for doubt in state.doubts)}
    if kafka_case.name.endswith("remove-of-absent-acl"):
        unread = set()
    stopping = ("ACCESS_CONTROL", "without a type", "which Kafka refuses")
    if any(word in name for name in unread for word in stopping):
        with pytest.raises(CorruptLog):
            told(kafka_case.log_dir)
        return
    shown = history_in_the_shell(state)
    assert shown is not None
    found = told(kafka_case.log_dir)
    expected = {
        (life.id, life.acl, life.begin, life.end) for life in lifetimes(shown.acls, shown.of_acls)
    }
    assert {(life.id, life.acl, life.begin, life.end) for life in found.lifetimes} == expected
    assert all(life.begin_known and life.end_known for life in found.lifetimes)
    [known] = [each for each in found.ranges if each.kind == "KNOWN"]
    assert (known.start, known.end) == (shown.start, state.bounds.end)


def test_a_log_named_from_here_is_read_from_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A cluster's workers run in other folders."""
    folder = kafka_case("quorum-4.3/node-11").log_dir
    monkeypatch.chdir(folder.parent)
    parts = Logs(folder.name, environ=os.environ).look().parts
    monkeypatch.chdir(tmp_path)
    assert all(list(part.batches()) for part in parts if isinstance(part, LogSplit))


def test_what_of_another_kafka_is_in_it_is_told(tmp_path: Path) -> None:
    """As for its replay: the last metadata.version, and unknown record types."""
    newer, known = (FeatureLevelRecord("metadata.version", level) for level in (99, 30))
    whole = ArchiveFolder(tmp_path / "whole").segment(0, newer, ace(1))
    unknown = raw_batch(3, bytes((1, 99, 0)))
    whole.segment_path(0).write_bytes(whole.segment_path(0).read_bytes() + unknown)
    [of_version, of_type] = told(tmp_path / "whole").foreign
    assert of_version.startswith("metadata.version 99 is not between 7 and 34")
    assert of_type.startswith("offset 3: a record was left out: record type 99 is unknown")
    replayed = replay_source(open_source(str(tmp_path / "whole"), environ={}), tolerant=True)
    traces = foreign_traces(replayed.image.features, replayed.skipped)
    assert [of_version, of_type] == [*traces.values()]
    ArchiveFolder(tmp_path / "begun").segment(5, ace(2)).snapshot(5, newer, ace(1))
    assert told(tmp_path / "begun").foreign == [of_version]
    ArchiveFolder(tmp_path / "raised").segment(5, known).snapshot(5, newer, ace(1))
    assert told(tmp_path / "raised").foreign == []


def raw_batch(base: int, value: bytes) -> bytes:
    return batch_bytes(values(base, value))


def test_what_is_not_proven_is_left_out_if_asked() -> None:
    """One of three voters proves what its newest snapshot covers."""
    source = str(kafka_case("quorum-4.3/node-11").log_dir)
    newest = 229
    archive = Logs(source, environ=os.environ, committed=True).look()
    assert (archive.end, Logs(source, environ=os.environ).look().end) == (newest, 265)
    pieces = enumerate(archive.parts)
    scanned = {number: scan(part) for number, part in pieces if isinstance(part, LogSplit)}
    state = replay_source(open_source(source, environ={}), at=AtOffset(newest))
    lasting = {
        life.id: life.acl
        for life in history_of(archive, scanned, skip_damaged=False).lifetimes
        if life.end is None
    }
    assert lasting == dict(state.image.acls.by_id.items())


def test_what_is_left_out_is_said_and_where_it_lies(tmp_path: Path) -> None:
    """One folder proves nothing past its snapshot, and one begins after its end; a third proves all
    of the first."""
    first = tmp_path / "a"
    ArchiveFolder(first).segment(0, ace(1), ace(2), ace(3)).snapshot(2, ace(1))
    ArchiveFolder(tmp_path / "b").segment(6, ace(4)).snapshot(8, ace(1))
    why = "a snapshot ends at 2"
    assert [each[:3] + each[5:] for each in told(tmp_path / "*", committed=True).ranges] == [
        ("KNOWN", 0, 2, None),
        ("GAP", 2, 4, f"records 2 to 3 are in {first} and not proven to be committed ({why})"),
        ("GAP", 4, 6, "records 4 to 5 are in none of the folders"),
        ("GAP", 6, 8, "there are records, but no snapshot from which to replay them"),
        ("KNOWN", 8, 8, None),
    ]

    def unproven(*, committed: bool) -> list[Unproven]:
        logs = Logs(str(tmp_path / "*"), environ=os.environ, committed=committed)
        logs.look()
        return logs.unproven()

    assert unproven(committed=False) == []
    assert unproven(committed=True) == [Unproven(str(first), 2, 4, why)]
    ArchiveFolder(tmp_path / "c").segment(0, ace(1), ace(2), ace(3)).snapshot(4, ace(1))
    assert unproven(committed=True) == []


def unbound(number: int) -> RemoveAccessControlEntryRecord:
    return RemoveAccessControlEntryRecord(uuid(number))


def second(at: int) -> Edge:
    """The edge that the record before offset ``at`` made."""
    return Edge(at, (at - 1) * 1000)


def edges(history: ArchiveHistory) -> dict[int, tuple[Edge | None, bool, Edge | None, bool]]:
    assert len({life.id for life in history.lifetimes}) == len(history.lifetimes)
    return {int.from_bytes(life.id): life[2:6] for life in history.lifetimes}


def test_what_happened_in_a_gap_has_its_edges(tmp_path: Path) -> None:
    """2 is missing after the gap, 3 is new, 1 lived through it; each row names the folder that has
    it."""
    ArchiveFolder(tmp_path / "a").segment(0, ace(1), ace(2))
    later = ArchiveFolder(tmp_path / "b").snapshot(10, ace(1), ace(3))
    later.segment(10, ace(4), unbound(1))
    found = told(tmp_path / "*")
    assert found.ranges == [
        HistoryRange("KNOWN", 0, 3, 0, 2000),
        HistoryRange("GAP", 3, 10, 2000, 9000, "records 3 to 9 are in none of the folders"),
        HistoryRange("KNOWN", 10, 13, 9000, 12000),
    ]
    sources = {int.from_bytes(life.id): Path(life.source).name for life in found.lifetimes}
    assert sources == {1: "a", 2: "a", 3: "b", 4: "b"}
    assert edges(found) == {
        1: (second(2), True, second(13), True),
        2: (second(3), True, Edge(3, 2000), False),
        3: (Edge(10, 9000), False, None, True),
        4: (second(12), True, None, True),
    }


def timed(folder: ArchiveFolder, start: int, *records: tuple[int, Any]) -> None:
    """A segment of one record in each batch, with the batch's time."""
    batches = (
        batch_bytes(build_batch(offset, 1, time_ms, [(record, 0)]))
        for offset, (time_ms, record) in enumerate(records, start)
    )
    folder.segment_path(start).write_bytes(b"".join(batches))


def test_a_lower_time_is_raised_in_the_next_segment_too(tmp_path: Path) -> None:
    """As in ``metalog history``, which reads the segments as one log."""
    folder = ArchiveFolder(tmp_path)
    timed(folder, 0, (5000, LeaderChangeMessage(0, 1)), (9000, NOTHING))
    timed(folder, 2, (7000, ace(1)), (8000, unbound(1)))
    [life] = told(tmp_path).lifetimes
    assert (life.begin, life.end) == (Edge(3, 9000), Edge(4, 9000))
    state = replay_source(open_source(str(tmp_path), environ={}), tolerant=True)
    shown = history_in_the_shell(state)
    assert shown is not None
    [same] = lifetimes(shown.acls, shown.of_acls)
    assert (life.begin, life.end) == (same.begin, same.end)


def test_a_time_below_that_of_the_snapshot_is_raised(tmp_path: Path) -> None:
    folder = ArchiveFolder(tmp_path).snapshot(10)
    timed(folder, 10, (8000, LeaderChangeMessage(0, 2)), (8500, ace(1)))
    found = told(tmp_path)
    assert found.ranges == [HistoryRange("KNOWN", 10, 12, 9000, 9000)]
    assert found.lifetimes[0].begin == Edge(12, 9000)


def test_a_snapshot_beside_folders_is_refused_and_in_its_own_has_gaps_around_it(
    tmp_path: Path,
) -> None:
    """It shows the ACLs at one offset, and nothing of the records before and after."""
    ArchiveFolder(tmp_path / "in" / "a").segment(0, ace(1), ace(2))
    ArchiveFolder(tmp_path / "in" / "c").segment(30, ace(4)).snapshot(31, ace(1), ace(3))
    alone = ArchiveFolder(tmp_path / "alone").snapshot(20, ace(1)).snapshot_path(20)
    assert [each[:3] for each in told(alone).ranges] == [("KNOWN", 20, 20)]
    beside = tmp_path / "in" / alone.name
    shutil.copy(alone, beside)
    said = rf"^{beside} is a snapshot, .* FOLDER/__cluster_metadata-0/{alone.name}$"
    for pattern in ("*", f"[{alone.name[0]}c]*"):
        with pytest.raises(InvalidSource, match=said):
            told(tmp_path / "in" / pattern)
    (tmp_path / "in" / "b" / "__cluster_metadata-0").mkdir(parents=True)
    beside.rename(tmp_path / "in" / "b" / "__cluster_metadata-0" / alone.name)
    assert [each[:3] for each in told(tmp_path / "in" / "*").ranges] == [
        ("KNOWN", 0, 3),
        ("GAP", 3, 20),
        ("KNOWN", 20, 20),
        ("GAP", 20, 30),
        ("GAP", 30, 31),
        ("KNOWN", 31, 32),
    ]


def test_several_snapshots_are_not_one_log(tmp_path: Path) -> None:
    folder = ArchiveFolder(tmp_path / "a").snapshot(20, ace(1)).snapshot(40, ace(2))
    with pytest.raises(InvalidSource, match=f"{folder.snapshot_path(20)} is a snapshot"):
        told(folder.partition / "*.checkpoint")


def test_folders_that_overlap_have_the_same_records(tmp_path: Path) -> None:
    """Two clusters, without a file that says so, soon have the same epochs."""
    ArchiveFolder(tmp_path / "a").segment(0, ace(1), ace(2))
    ArchiveFolder(tmp_path / "b").segment(0, ace(1), ace(2), ace(3))
    assert len(told(tmp_path / "*").lifetimes) == 3
    ArchiveFolder(tmp_path / "c").segment(0, ace(1), ace(2), ace(9), ace(4))
    with pytest.raises(InvalidSource, match=r"c and .*b are not of one log: before offset 4"):
        told(tmp_path / "*")


def test_before_the_first_snapshot_nothing_is_known(tmp_path: Path) -> None:
    """Earlier records are there, but the ACLs bound before them are unknown."""
    folder = ArchiveFolder(tmp_path / "a").segment(5, ace(2), unbound(1), NOTHING)
    folder.snapshot(8, ace(2), ace(9)).snapshot(9, ace(2), ace(9))
    found = told(tmp_path / "a")
    why = "there are records, but no snapshot from which to replay them"
    assert found.ranges == [
        HistoryRange("GAP", 5, 8, None, 7000, why),
        HistoryRange("KNOWN", 8, 9, 7000, 8000),
    ]
    assert edges(found) == {2: (None, True, None, True), 9: (None, True, None, True)}


def test_without_any_snapshot_nothing_is_known_of_a_late_log(tmp_path: Path) -> None:
    ArchiveFolder(tmp_path / "a").segment(5, ace(2))
    found = told(tmp_path / "a")
    assert [each.kind for each in found.ranges] == ["GAP"]
    assert found.lifetimes == []


def damage(path: Path, *, at: int = -3) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x40
    path.write_bytes(data)


def test_damage_is_named_or_is_a_stretch_up_to_the_next_snapshot(tmp_path: Path) -> None:
    """The segment after it is read, but the state is known only from a snapshot on."""
    folder = ArchiveFolder(tmp_path / "a")
    folder.segment(0, ace(1), ace(2)).segment(3, ace(3)).snapshot(4, ace(2), ace(5))
    damage(folder.segment_path(0))
    name = folder.segment_path(0)
    advised = "; take the log from another copy$"
    with pytest.raises(CorruptLog, match=rf"{name}, offset 2, byte \d+: the checksum.*{advised}"):
        told(tmp_path / "a")
    found = told(tmp_path / "a", skip_damaged=True)
    first, damaged, unknown, last = found.ranges
    assert all("copy" not in (each.why or "") for each in found.ranges)
    assert first == HistoryRange("KNOWN", 0, 2, 0, 1000)
    assert damaged[:5] == ("DAMAGED", 2, 3, 1000, 3000)
    assert damaged.why is not None
    assert str(name) in damaged.why
    assert unknown[:5] == ("GAP", 3, 4, 1000, 3000)
    assert last == HistoryRange("KNOWN", 4, 5, 3000, 4000)
    assert edges(found) == {
        1: (second(2), True, Edge(2, 1000), False),
        2: (Edge(4, 3000), False, None, True),
        5: (Edge(4, 3000), False, None, True),
        3: (second(5), True, None, True),
    }


def test_damage_where_two_folders_are_compared_can_be_skipped(tmp_path: Path) -> None:
    ArchiveFolder(tmp_path / "a").segment(0, ace(1)).segment(2, ace(2))
    later = ArchiveFolder(tmp_path / "b").snapshot(2, ace(1)).segment(2, ace(2)).segment(4, ace(3))
    damage(later.segment_path(2))
    found = told(tmp_path / "*", skip_damaged=True)
    assert [each[:3] for each in found.ranges] == [("KNOWN", 0, 6)]


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_a_damaged_end_counts_in_whichever_folder_it_is(tmp_path: Path, names: str) -> None:
    """Both folders end at the same offset, and one has a damaged record there."""
    _, damaged = (ArchiveFolder(tmp_path / name).segment(0, ace(1)) for name in names)
    damaged.segment(2, ace(2))
    damage(damaged.segment_path(2), at=30)
    with pytest.raises(CorruptLog, match="offset 2, byte"):
        told(tmp_path / "*")
    found = told(tmp_path / "*", skip_damaged=True)
    assert [each.kind for each in found.ranges] == ["KNOWN", "DAMAGED"]


def test_damage_at_the_end_leaves_all_after_it_unknown(tmp_path: Path) -> None:
    """ACLs bound before it are not called ended: nobody saw their end."""
    folder = ArchiveFolder(tmp_path / "a").segment(0, ace(1), ace(2), ace(3), ace(4))
    damage(folder.segment_path(0), at=folder.segment_path(0).stat().st_size // 2)
    found = told(tmp_path / "a", skip_damaged=True)
    assert [each.kind for each in found.ranges] == ["KNOWN", "DAMAGED"]
    assert found.ranges[1].end > 1 << 62
    assert edges(found)[1] == (second(2), True, None, True)


def test_of_what_is_committed_damage_is_named_too(tmp_path: Path) -> None:
    """The only voter has committed records that it cannot read any more; for one of several, the
    snapshot proves what is before it, and damaged records after it may never have been
    committed."""
    source = tmp_path / "only"
    shutil.copytree(kafka_case("basic-4.3").log_dir, source)
    segment = max(source.rglob("*.log"))
    end = DirectoryLog(source).bounds().end
    damage(segment, at=segment.stat().st_size // 2)
    log = DirectoryLog(source)
    assert (log.proven.why, log.proven.offset < end) == ("node 1 is the only voter", True)
    with pytest.raises(CorruptLog, match=rf"{segment}, offset \d+, byte \d+: the checksum"):
        told(source, committed=True)
    assert told(source, committed=True, skip_damaged=True) == told(source, skip_damaged=True)

    several = ArchiveFolder(tmp_path / "several").segment(0, ace(1), ace(2), ace(3))
    damage(several.segment_path(0))
    several.snapshot(2, ace(1))
    of_several = told(tmp_path / "several", committed=True)
    assert [each[:3] for each in of_several.ranges] == [("KNOWN", 0, 2)]
    several.snapshot(4, ace(1))
    with pytest.raises(CorruptLog, match=f"{several.segment_path(0)}, offset 3"):
        told(tmp_path / "several", committed=True)


def test_a_damaged_snapshot_is_named_or_the_next_is_used(tmp_path: Path) -> None:
    folder = ArchiveFolder(tmp_path / "a").segment(5, NOTHING, NOTHING, NOTHING)
    folder.snapshot(5, ace(1)).snapshot(7, ace(1))
    damage(folder.snapshot_path(5))
    with pytest.raises(CorruptLog, match=str(folder.snapshot_path(5))):
        told(tmp_path / "a")
    found = told(tmp_path / "a", skip_damaged=True)
    assert [each[:3] for each in found.ranges] == [("DAMAGED", 5, 7), ("KNOWN", 7, 9)]


def test_a_damaged_copy_of_a_snapshot_that_another_folder_has_whole_is_no_damage(
    tmp_path: Path,
) -> None:
    for name in ("a", "b"):
        ArchiveFolder(tmp_path / name).segment(5, NOTHING, NOTHING).snapshot(6, ace(1))
    whole = told(tmp_path / "*")
    one, other = sorted((tmp_path).rglob("*.checkpoint"))
    damage(one)
    assert edges(told(tmp_path / "*")) == edges(whole)
    damage(other)
    with pytest.raises(CorruptLog, match=str(one)):
        told(tmp_path / "*")


def test_an_acl_that_cannot_be_read_is_damage(tmp_path: Path) -> None:
    """A later version of the record: its binding is unknown."""
    ArchiveFolder(tmp_path / "a").segment(0, ace(1), ace(2)).snapshot(3, ace(1))
    [path] = (tmp_path / "a").rglob("*.log")
    batches = list(DirectoryLog(tmp_path / "a").batches(0))
    value = next(iter(batches[2].records())).value
    assert value is not None
    unread = assemble_batch(2, 1, 2000, [RawRecord(0, 0, 0, None, b"\x01\x12\x09" + value[3:], ())])
    path.write_bytes(b"".join(map(batch_bytes, [*batches[:2], unread])))
    with pytest.raises(CorruptLog, match=r"offset 2, byte .*ACCESS_CONTROL_ENTRY_RECORD"):
        told(tmp_path / "a")
    found = told(tmp_path / "a", skip_damaged=True)
    assert [each[:3] for each in found.ranges] == [
        ("KNOWN", 0, 2),
        ("DAMAGED", 2, 3),
        ("KNOWN", 3, 3),
    ]


def test_a_control_record_that_cannot_be_read_is_damage(tmp_path: Path) -> None:
    ArchiveFolder(tmp_path / "a").segment(0, ace(1))
    [path] = (tmp_path / "a").rglob("*.log")
    marker = RawRecord(0, 0, 0, b"\0\0\0\1", bytes(6), ())
    unread = assemble_batch(2, 1, 2000, [marker], is_control=True)
    path.write_bytes(path.read_bytes() + batch_bytes(unread))
    with pytest.raises(CorruptLog, match=r"offset 2, byte .*a transaction marker \(COMMIT\)"):
        told(tmp_path / "a")


def test_what_a_transaction_does_comes_at_its_end_or_never(tmp_path: Path) -> None:
    ArchiveFolder(tmp_path / "a").segment(
        0, BEGIN, ace(1), END, BEGIN, ace(2), ABORT, BEGIN, ace(3)
    )
    assert edges(told(tmp_path / "a")) == {1: (second(4), True, None, True)}


def test_a_transaction_may_have_begun_before_the_first_segment_that_was_kept(
    tmp_path: Path,
) -> None:
    """KIP-868 does not limit a transaction to a segment: it may span three. At the log's own
    beginning, or after a transaction's end, another end is damage."""
    kept = ArchiveFolder(tmp_path / "kept").segment(50, ace(1)).segment(52, END, NOTHING, ace(3))
    kept.snapshot(54, ace(1), ace(2))
    assert edges(told(tmp_path / "kept")) == {
        1: (None, True, None, True),
        2: (None, True, None, True),
        3: (second(56), True, None, True),
    }
    never = ArchiveFolder(tmp_path / "never").segment(0, ace(1)).segment(2, END)
    never.snapshot(4, ace(1))
    twice = ArchiveFolder(tmp_path / "twice").segment(50, ace(1)).segment(52, END, END)
    twice.snapshot(55, ace(1))
    for name in ("never", "twice"):
        with pytest.raises(CorruptLog, match="a transaction ends that never began"):
            told(tmp_path / name)

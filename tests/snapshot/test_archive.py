"""An archive keeps all records of its log, even those that the controller has deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalog.disk.files import LOCAL_FILES, OWNER_WRITES, LocalFiles, WritableFile
from metalog.errors import InvalidSource, InvalidTarget
from metalog.ids import SnapshotId
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder.merged_folders import FoldersLog
from metalog.log.folder_writer.appender import SegmentLimits
from metalog.log.folder_writer.writer import WritableDirectoryLog
from metalog.records.batch import batch_bytes
from metalog_sources.moment import AtOffset
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from shell.main import main
from snapshot import archive
from snapshot.archive import archive_log
from snapshot.writer import write_snapshot
from tests.support.disk.tiny_log import ace
from tests.support.disk.written_log import batches_in, copied, formatted
from tests.support.kafka.cases import DEMO, KafkaCase, kafka_case


def archived(folder: Path, target: Path, cluster_id: str | None = "c") -> archive.Archived:
    log = DirectoryLog(folder)
    return archive_log(log, log.proven.offset, target, cluster_id=cluster_id, files=LOCAL_FILES)


def image_at(folder: Path, offset: int | None = None):  # type: ignore[no-untyped-def]
    at = None if offset is None else AtOffset(offset)
    return replay_source(open_source(str(folder), environ={}), at=at).image


def trimmed(log: WritableDirectoryLog, folder: Path) -> None:
    """As retention does: a snapshot at the end, then deletion of the segments before it."""
    image = image_at(folder)
    control = log.snapshot_control
    write_snapshot(image, log.folder.partition, timestamp=1, control=control)
    log.trim(SnapshotId(image.provenance.offset, image.provenance.epoch))


def test_it_holds_what_the_controller_deleted(tmp_path: Path) -> None:
    folder, target = formatted(tmp_path / "node"), tmp_path / "archive"
    log = WritableDirectoryLog(folder, limits=SegmentLimits(max_bytes=600))
    epoch = log.claim()
    acls_at = {}
    for number in range(2, 40):
        end = log.append(epoch, [(ace(number, f"t{number}"), 0)])
        acls_at[end] = set(image_at(folder).acls.by_id.values())
        if number % 7 == 0:
            archived(folder, target)
        if number % 14 == 0:
            trimmed(log, folder)
    last = archived(folder, target)
    assert (last.start, last.end) == (0, end)
    assert DirectoryLog(folder).bounds().start > 0
    log.close()
    for offset, acls in acls_at.items():
        assert set(image_at(target, offset).acls.by_id.values()) == acls
    kept = {batch.base_offset: batch_bytes(batch) for batch in batches_in(target)}
    for batch in DirectoryLog(folder).batches(DirectoryLog(folder).bounds().start):
        assert kept[batch.base_offset] == batch_bytes(batch)


def test_kafkas_log_is_kept_byte_for_byte(kafka_case: KafkaCase, tmp_path: Path) -> None:
    if kafka_case.is_invalid or not (kafka_case.log_dir / "meta.properties").is_file():
        return
    log = DirectoryLog(kafka_case.log_dir)
    if log.proven.offset < log.bounds().end:
        return
    archived(kafka_case.log_dir, tmp_path / "archive")
    theirs = [batch_bytes(each) for each in log.batches(log.bounds().start)]
    kept = DirectoryLog(tmp_path / "archive")
    assert [batch_bytes(each) for each in kept.batches(kept.bounds().start)] == theirs
    assert kept.snapshots() == log.snapshots()


def test_a_second_run_adds_nothing(tmp_path: Path) -> None:
    first = archived(DEMO / "log-dir", tmp_path / "archive")
    second = archived(DEMO / "log-dir", tmp_path / "archive")
    assert (first.added_from, first.end, first.snapshots) == (0, 179, 1)
    assert (second.added_from, second.end, second.snapshots) == (179, 179, 0)


def test_a_long_log_is_cut_into_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "SEGMENT_BYTES", 1000)
    archived(DEMO / "log-dir", tmp_path / "archive")
    kept = DirectoryLog(tmp_path / "archive")
    assert len(kept.folder.segments) > 5
    assert image_at(tmp_path / "archive").acls == image_at(DEMO / "log-dir").acls


def test_records_that_are_gone_are_no_part_of_an_archive(tmp_path: Path) -> None:
    folder, target = formatted(tmp_path / "node"), tmp_path / "archive"
    log = WritableDirectoryLog(folder, limits=SegmentLimits(max_bytes=600))
    epoch = log.claim()
    log.append(epoch, [(ace(2), 0)])
    archived(folder, target)
    for number in range(3, 30):
        log.append(epoch, [(ace(number), 0)])
    trimmed(log, folder)
    log.close()
    with pytest.raises(InvalidSource, match="the records between are gone"):
        archived(folder, target)


def test_another_log_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "archive"
    archived(copied("basic-4.3", tmp_path / "one"), target, "one")
    with pytest.raises(InvalidTarget, match="another cluster, one"):
        archived(DEMO / "log-dir", target, "two")
    with pytest.raises(InvalidSource, match="has more records than the log"):
        archived(DEMO / "log-dir", target, None)
    archived(DEMO / "log-dir", tmp_path / "demo", None)
    with pytest.raises(InvalidTarget, match="the archive of another log"):
        archived(kafka_case("basic-4.3").log_dir, tmp_path / "demo", None)


def test_an_archive_begun_without_a_cluster_id_keeps_the_first_that_is_known(
    tmp_path: Path,
) -> None:
    folder, target = copied("basic-4.3", tmp_path / "node"), tmp_path / "archive"
    archived(folder, target, None)
    with pytest.raises(InvalidSource, match="has more records than the log"):
        archived(DEMO / "log-dir", target, "another")
    assert archive.archived_cluster(target, LOCAL_FILES) is None, "of a refused log nothing is kept"
    archived(folder, target, "one")
    assert archive.archived_cluster(target, LOCAL_FILES) == DirectoryLog(target).cluster_id == "one"
    archived(folder, target, None)
    with pytest.raises(InvalidTarget, match="another cluster, one"):
        archived(folder, target, "two")


def test_a_folder_that_is_something_else_is_left_alone(tmp_path: Path) -> None:
    folder = copied("basic-4.3", tmp_path / "node")
    before = sorted(folder.rglob("*"))
    assert main(["archive", str(DEMO / "log-dir"), str(folder)]) == 2
    assert sorted(folder.rglob("*")) == before


def test_what_proves_nothing_is_not_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    segment = next((DEMO / "log-dir" / "__cluster_metadata-0").glob("*.log"))
    assert main(["archive", str(segment), str(tmp_path / "archive")]) == 2
    assert "cannot prove that records are committed" in capsys.readouterr().err
    assert not (tmp_path / "archive").exists()


def test_an_empty_log_is_not_archived(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = formatted(tmp_path / "node")
    assert main(["archive", str(folder), str(tmp_path / "archive")]) == 2
    assert capsys.readouterr().err == f"metalog: {folder}: it is empty\n"


def test_all_of_an_archive_is_committed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only committed records go in: here two of three voters agree."""
    nodes = [kafka_case(f"quorum-4.3/node-{node}").log_dir for node in (11, 13)]
    target = tmp_path / "archive"
    assert main(["archive", "+".join(map(str, nodes)), str(target)]) == 0
    end = DirectoryLog(target).bounds().end
    for source in (target, target / "__cluster_metadata-0"):
        log = DirectoryLog(source)
        assert log.proven.offset == end
        assert log.cluster_id == DirectoryLog(nodes[0]).cluster_id
    capsys.readouterr()
    assert main(["acls", str(target)]) == 0
    listed = capsys.readouterr()
    assert main(["acls", str(target), "--committed"]) == 0
    assert capsys.readouterr().out == listed.out != ""
    assert "proven" not in listed.err
    both = FoldersLog([DirectoryLog(target), DirectoryLog(nodes[0])])
    assert both.proven.offset >= end


def test_an_export_that_leaves_out_everything_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = str(kafka_case("quorum-4.3/node-12-uncommitted").log_dir)
    for words in (["export", alone], ["acls", alone], ["history", alone], ["users", alone]):
        assert main([*words, "--committed"]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "--committed leaves out all of it" in printed.err
    users = tmp_path / "users.yaml"
    users.write_text("users:\n- {user: a, mechanism: SCRAM-SHA-256, iterations: 4096}\n")
    only_users = dict.fromkeys(("csv", "avro", "commands"), "SOURCE has only users")
    for name, said in {**only_users, "strimzi": "cannot express any of the 0 ACLs and"}.items():
        target = tmp_path / f"out.{name}"
        assert main(["export", str(users), "-o", name, "--to", str(target)]) == 2
        assert said in capsys.readouterr().err
        assert not target.exists()
    assert main(["export", str(users)]) == 0


def test_a_log_that_cannot_be_compared_needs_the_clusters_id(tmp_path: Path) -> None:
    """It begins where the archive ends: its records do not show which cluster wrote them."""
    folder, target = formatted(tmp_path / "node"), tmp_path / "archive"
    log = WritableDirectoryLog(folder, limits=SegmentLimits(max_bytes=1))
    epoch = log.claim()
    end = log.append(epoch, [(ace(2), 0)])
    archived(folder, target, cluster_id=None)
    log.append(epoch, [(ace(3), 0)])
    control = log.snapshot_control
    write_snapshot(image_at(folder, end), log.folder.partition, timestamp=1, control=control)
    log.trim(SnapshotId(end, epoch))
    log.close()
    assert DirectoryLog(folder).bounds().start == DirectoryLog(target).bounds().end
    with pytest.raises(InvalidTarget, match="cannot verify that it is the archive of this log"):
        archived(folder, target, cluster_id=None)
    with pytest.raises(InvalidTarget, match="cannot verify that it is the archive of this log"):
        archived(folder, target, cluster_id="c")


def test_what_a_killed_run_left_is_gone_with_the_next(tmp_path: Path) -> None:
    folder, target = formatted(tmp_path / "node"), tmp_path / "archive"
    log = WritableDirectoryLog(folder)
    log.append(log.claim(), [(ace(2), 0)])
    log.close()
    archived(folder, target)
    left = target / "__cluster_metadata-0" / "00000000000000000002.log.part"
    left.write_bytes(b"half")
    archived(folder, target)
    assert not left.exists()


class _FullDisk(LocalFiles):
    """A disk that is full after ``room`` new files."""

    def __init__(self, room: int) -> None:
        self.room = room

    def create(self, path: Path, *, mode: int = OWNER_WRITES) -> WritableFile:
        if not self.room:
            raise OSError(28, "No space left on device")
        self.room -= 1
        return super().create(path, mode=mode)


def test_a_failed_run_can_be_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the first one, of which a kill can leave the unfinished ``archive.properties``."""
    folder = formatted(tmp_path / "node")
    monkeypatch.setattr(archive, "SEGMENT_BYTES", 1)
    log = WritableDirectoryLog(folder)
    end = log.append(log.claim(), [(ace(2), 0)])
    log.close()
    killed = tmp_path / "killed"
    killed.mkdir()
    (killed / ".archive.properties.tmp").write_bytes(b"half")
    assert archived(folder, killed).end == end
    for room in range(4):
        target = tmp_path / f"full-{room}"
        found = DirectoryLog(folder)
        with pytest.raises(OSError, match="No space"):
            archive_log(found, end, target, cluster_id="c", files=_FullDisk(room))
        assert archived(folder, target).end == end


class _UnlistedParent(LocalFiles):
    """``folder`` can be entered but not opened, as with the mode 0711."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def sync_folder(self, folder: Path) -> None:
        if folder == self.folder:
            raise PermissionError(13, "Permission denied")
        super().sync_folder(folder)


def test_an_empty_folder_becomes_an_archive_if_the_folder_above_cannot_be_opened(
    tmp_path: Path,
) -> None:
    log, target = DirectoryLog(DEMO / "log-dir"), tmp_path / "archive"
    target.mkdir()
    end = log.proven.offset
    made = archive_log(log, end, target, cluster_id="c", files=_UnlistedParent(tmp_path))
    assert made.end == end

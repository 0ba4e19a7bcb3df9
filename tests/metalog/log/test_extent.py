"""A log cut between two batches looks whole; Kafka's other files show that records are missing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from metalog.disk.files import LocalFiles, ReadableFile
from metalog.errors import CorruptLog
from metalog.loader import Loader, Loading, Ready, feed
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder.extent import LogExtent, missing_after
from metalog.log.folder.single_file import SegmentLog
from metalog.log.folder_writer.writer import WritableDirectoryLog
from metalog.records.batch import Batch
from metalog_spark.history.archive import Logs
from metalog_spark.history.splits import LogHole
from tests.support.command.runs import Run
from tests.support.disk.written_log import formatted
from tests.support.kafka.cases import KafkaCase, kafka_case, kafka_cases

QUESTION = ("User:x", "read", "topic:y", "--quiet")
STOPPED = "basic-4.3", "demo", "quorum-4.3/node-13", "trimmed-4.3"
RUNNING = tuple(case.name for case in kafka_cases() if case.name.endswith("-running"))


def last_segment(log: DirectoryLog) -> Path:
    return log.folder.segment_path(log.folder.segments[-1])


def batches_of_last_segment(log: DirectoryLog) -> list[Batch]:
    last = str(last_segment(log))
    return [batch for batch in log.batches(log.bounds().start) if batch.file == last]


def copied(case: str, tmp_path: Path, *, without: str = "") -> Path:
    folder = Path(shutil.copytree(kafka_case(case).log_dir, tmp_path / "log-dir"))
    for path in folder.glob(f"__cluster_metadata-0/*{without}") if without else ():
        path.unlink()
    return folder


def errors_of_cuts(folder: Path) -> list[CorruptLog | None]:
    """The error for the log cut at the end of each batch of its last segment, in order."""
    log = DirectoryLog(folder)
    segment, batches = last_segment(log), batches_of_last_segment(log)
    whole = segment.read_bytes()
    said = []
    for batch in batches:
        segment.write_bytes(whole[: batch.position])
        cut = DirectoryLog(folder)
        if cut.ends.replaced_by is None:
            said.append(cut.missing or cut.may_be_missing)
        else:
            assert "replaces the log" in cut.problems[0]
    segment.write_bytes(whole)
    return said


def test_a_log_as_kafka_left_it_lacks_nothing(kafka_case: KafkaCase) -> None:
    log = DirectoryLog(kafka_case.log_dir)
    assert (log.missing, log.may_be_missing) == (None, None)


@pytest.mark.parametrize("case", STOPPED)
def test_each_cut_of_a_stopped_log_is_proven(
    case: str, tmp_path: Path, figure: Callable[[str, int], None]
) -> None:
    said = errors_of_cuts(copied(case, tmp_path))
    assert said
    assert all(each is not None and each.problem.endswith("missing from the log") for each in said)
    figure("damages", len(said))


@pytest.mark.parametrize("case", STOPPED)
def test_without_a_producer_snapshot_the_time_index_tells_of_the_last_batch(
    case: str, tmp_path: Path, figure: Callable[[str, int], None]
) -> None:
    folder = copied(case, tmp_path, without=".snapshot")
    said = errors_of_cuts(folder)
    assert all(each is not None and "never reached the disk" in each.problem for each in said)
    figure("damages", len(said))


@pytest.mark.parametrize("case", RUNNING)
def test_of_a_node_that_did_not_stop_what_no_index_entry_has_is_not_missed(
    case: str, tmp_path: Path
) -> None:
    """The limit that the README states."""
    folder = copied(case, tmp_path)
    entries = [reach.end for reach in DirectoryLog(folder).folder.extents if not reach.is_certain]
    ends = [batch.base_offset for batch in batches_of_last_segment(DirectoryLog(folder))]
    said = errors_of_cuts(folder)
    tail = ends[-len(said) :]
    epoch = DirectoryLog(folder).leader_epochs.starts[-1].start_offset
    for end, each in zip(tail, said, strict=True):
        assert (each is not None) == (end < max(entries) or end == epoch), end


def test_a_log_that_kafka_truncates_after_its_files_were_listed_lacks_nothing(
    tmp_path: Path,
) -> None:
    folder = copied("basic-4.3", tmp_path)
    log, listed_before = DirectoryLog(folder), DirectoryLog(folder)
    segment, cut = last_segment(log), batches_of_last_segment(log)[-2]
    segment.write_bytes(segment.read_bytes()[: cut.position])
    for name in "*.snapshot", "*index":
        for path in folder.glob(f"__cluster_metadata-0/{name}"):
            path.unlink()
    assert (listed_before.missing, listed_before.may_be_missing) == (None, None)
    assert listed_before.bounds().end == cut.base_offset


def test_an_election_after_the_files_were_read_is_no_problem(tmp_path: Path) -> None:
    """A new leader writes quorum-state before its first record."""
    folder = formatted(tmp_path / "node")
    with closing(WritableDirectoryLog(folder)) as first:
        first.claim()
    read_before = DirectoryLog(folder)
    with closing(WritableDirectoryLog(folder)) as second:
        assert second.claim() == 2
    assert read_before.bounds().epoch == 2
    assert not read_before.problems


class TruncatedOnce(LocalFiles):
    """Kafka truncates ``segment`` just before it is opened first, and removes what is beside it."""

    def __init__(self, segment: Path, size: int) -> None:
        self._segment = segment
        self._size = size
        self._is_whole = True

    def open(self, path: Path) -> ReadableFile:
        if path == self._segment and self._is_whole:
            self._is_whole = False
            path.write_bytes(path.read_bytes()[: self._size])
            for name in "*.snapshot", "*index":
                for each in path.parent.glob(name):
                    each.unlink()
        return super().open(path)


def test_a_segment_that_kafka_truncates_after_its_folder_was_listed_lacks_nothing(
    tmp_path: Path,
) -> None:
    log = DirectoryLog(copied("basic-4.3", tmp_path))
    segment, cut = last_segment(log), batches_of_last_segment(log)[-2]
    read = SegmentLog(segment, files=TruncatedOnce(segment, cut.position))
    assert (read.missing, read.problems, read.bounds().end) == (None, (), cut.base_offset)


def test_an_index_is_as_long_as_it_may_become_while_kafka_runs(tmp_path: Path) -> None:
    folder = copied("basic-4.3", tmp_path, without=".snapshot")
    for path in folder.glob("__cluster_metadata-0/*index"):
        path.write_bytes(path.read_bytes() + bytes(10_000_000))
    assert DirectoryLog(folder).may_be_missing is None
    segment = last_segment(DirectoryLog(folder))
    segment.write_bytes(segment.read_bytes()[:4183])
    said = DirectoryLog(folder).may_be_missing
    assert said is not None
    assert "records 53 to 573" in said.problem
    assert SegmentLog(segment).problems == (said.found,)


class _ReplacedIndexes(LocalFiles):
    """A writer that starts removes the last indexes, and then creates them again."""

    def open(self, path: Path) -> ReadableFile:
        if path.suffix in {".index", ".timeindex"}:
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return super().open(path)


def test_an_index_can_be_replaced_while_the_log_is_read(kafka_case: KafkaCase) -> None:
    log = DirectoryLog(kafka_case.log_dir, files=_ReplacedIndexes())
    assert log.bounds() == DirectoryLog(kafka_case.log_dir).bounds()


def test_a_segment_of_which_only_the_index_is_left(tmp_path: Path) -> None:
    folder = copied("trimmed-4.3", tmp_path, without=".snapshot")
    segment = last_segment(DirectoryLog(folder))
    segment.unlink()
    for path in folder.rglob("*.checkpoint"):
        path.unlink()
    log = DirectoryLog(folder)
    assert log.may_be_missing is not None
    assert log.may_be_missing.file is not None
    assert Path(log.may_be_missing.file).stem == segment.stem


def test_one_segment_is_held_against_the_next(tmp_path: Path) -> None:
    folder = copied("trimmed-4.3", tmp_path)
    [first, *_] = sorted(folder.rglob("*.log"))
    assert SegmentLog(first).missing is None
    last = list(DirectoryLog(folder).batches(608))
    cut = max(batch.position for batch in last if batch.file == str(first))
    first.write_bytes(first.read_bytes()[:cut])
    missing = SegmentLog(first).missing
    assert missing is not None
    assert "shows record 810, which is missing" in missing.problem


def test_nothing_is_answered_from_a_log_that_lacks_records(tmp_path: Path, run: Run) -> None:
    folder = copied("basic-4.3", tmp_path)
    log = DirectoryLog(folder)
    segment, batches = last_segment(log), batches_of_last_segment(log)
    segment.write_bytes(segment.read_bytes()[: batches[-2].position])
    said = f"shows records {batches[-2].base_offset} to 573, which are missing"
    for options in ((), ("--committed",)):
        refused = run("can", folder, *QUESTION, *options)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert said in refused.stderr
    assert run("can", folder, *QUESTION, "--salvage").returncode == 1
    assert run("can", folder, *QUESTION, "--at", "100").returncode == 1
    status = run("status", folder)
    assert status.returncode == 1
    assert said in status.stdout


def cut(folder: Path, batches: int) -> Path:
    """Cuts the last ``batches`` from the last segment of the log in ``folder``."""
    log = DirectoryLog(folder)
    segment = last_segment(log)
    position = batches_of_last_segment(log)[-batches].position
    segment.write_bytes(segment.read_bytes()[:position])
    return segment


def test_a_strict_loader_stops_and_a_tolerant_one_doubts(tmp_path: Path) -> None:
    """The gate of an embedded authorizer stays closed while records are missing."""
    folder = copied("basic-4.3", tmp_path)
    segment = cut(folder, 2)
    for log in (DirectoryLog(folder), SegmentLog(segment)):
        assert log.missing is not None
        strict, tolerant = Loader(), Loader(tolerant=True)
        with pytest.raises(CorruptLog, match="to 573, which are missing"):
            feed(strict, log, log.read(0))
        assert isinstance(strict.state, Loading)
        feed(tolerant, log, log.read(0))
        assert isinstance(tolerant.state, Ready)
        assert [doubt.reason for doubt in tolerant.doubts.values()] == [log.missing.problem]


def test_nothing_is_archived_from_a_log_that_lacks_records(tmp_path: Path, run: Run) -> None:
    """The archive would lack the files that prove it."""
    folder = copied("basic-4.3", tmp_path)
    cut(folder, 2)
    done = run("archive", folder, tmp_path / "archive")
    assert done.returncode == 2
    assert "to 573, which are missing" in done.stderr
    assert not list(tmp_path.glob("archive/*/*.log"))


def test_of_several_folders_one_that_lacks_records_counts_where_no_other_has_them(
    tmp_path: Path, run: Run
) -> None:
    nodes = [
        Path(shutil.copytree(kafka_case(f"quorum-4.3/node-{kept}").log_dir, tmp_path / node))
        for node, kept in {"11": 11, "13": 13, "12": 13}.items()
    ]
    whose = nodes[2] / "meta.properties"
    whose.write_text(whose.read_text().replace("node.id=13", "node.id=12"))
    cut(nodes[0], 2)
    two, three = ("+".join(map(str, nodes[:count])) for count in (2, 3))
    assert run("can", three, *QUESTION).returncode == 1
    refused = run("can", two, *QUESTION)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "which are missing" in refused.stderr
    segment = last_segment(DirectoryLog(nodes[0]))
    segment.write_bytes(segment.read_bytes()[:-1] + b"\xff" + bytes(99))
    assert DirectoryLog(nodes[0]).damage is not None
    assert run("can", three, *QUESTION).returncode == 1
    assert run("can", two, *QUESTION).returncode == 2


def test_the_pipeline_knows_nothing_of_what_comes_after(tmp_path: Path) -> None:
    folder = copied("basic-4.3", tmp_path)
    cut(folder, 2)
    *_, last = Logs(str(folder), environ={}).look().parts
    assert isinstance(last, LogHole)
    assert last.is_damage
    assert "to 573, which are missing" in last.why


@pytest.mark.parametrize(
    ("is_certain", "lost"),
    [(True, "missing from the log"), (False, "missing, or never reached the disk")],
)
def test_what_a_file_shows_beyond_the_end_is_named_with_what_to_do(
    is_certain: bool, lost: str
) -> None:
    extents = [LogExtent(end, f"{end}.file", is_certain) for end in (7, 9, 8)]
    extents.append(LogExtent(99, "another", not is_certain))
    error = missing_after(extents, 5, is_certain=is_certain)
    assert error is not None
    assert (error.file, error.problem) == ("9.file", f"it shows records 5 to 8, which are {lost}")
    assert error.advice == "take the log from another copy"
    one = missing_after(extents, 8, is_certain=is_certain)
    assert one is not None
    assert one.problem == f"it shows record 8, which is {lost}"
    assert missing_after(extents, 9, is_certain=is_certain) is None
    assert missing_after([], 0, is_certain=is_certain) is None

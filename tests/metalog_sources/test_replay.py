"""A replayed source equals the output of Kafka's own tools, now and at every earlier moment."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metalog.disk.files import LocalFiles
from metalog.errors import CorruptLog, CorruptSnapshot, InvalidSource
from metalog.ids import SnapshotId, uuid_text
from metalog.log.folder.layout import segment_name, snapshot_name
from metalog.records.batch import encode_batch
from metalog_sources.moment import AtOffset, Moment
from metalog_sources.record_notes import RecordCounts
from metalog_sources.replay import Replayed, replay_source, survey_rest
from metalog_sources.source import open_source
from tests.support.disk.tiny_log import ace, batch, snapshot
from tests.support.kafka.cases import KafkaCase, kafka_case


def replayed(
    source: object, *, at: Moment | None = None, committed: bool = False, salvage: bool = False
) -> Replayed:
    opened = open_source(str(source), environ={})
    return replay_source(opened, at=at, committed=committed, tolerant=True, salvage=salvage)


def acl_ids(result: Replayed) -> list[str]:
    return sorted(map(uuid_text, result.image.acls.by_id))


def users(result: Replayed) -> list[dict[str, object]]:
    found = [
        {"user": user, "mechanism": mechanism.name, "iterations": credential.iterations}
        for mechanism, credentials in result.image.scram.mechanisms.items()
        for user, credential in credentials.items()
    ]
    return sorted(found, key=lambda each: (str(each["user"]), str(each["mechanism"])))


def expected(case: KafkaCase, name: str) -> list[dict[str, Any]]:
    """For a log with a tail or unreadable records: the output of a tolerant reader."""
    variants = (f"{name}-whole-log.json", f"{name}-if-skipped.json", f"{name}.json")
    found: list[dict[str, Any]] = case.json(next(filter(case.expects, variants)))
    return found


def expected_ids(case: KafkaCase) -> list[str]:
    return [acl["id"] for acl in expected(case, "acls")]


def test_the_end_of_every_log(kafka_case: KafkaCase) -> None:
    if kafka_case.is_invalid:
        with pytest.raises(CorruptLog) as caught:
            replayed(kafka_case.log_dir)
        assert caught.value.problem in kafka_case.json("error.json")["error"]
        assert str(caught.value.offset) == kafka_case.json("error.json")["error"].split()[-1]
        return
    result = replayed(kafka_case.log_dir)
    assert result.ready
    assert result.offset == result.bounds.end
    assert result.problems == ()
    if kafka_case.expects("summary.json") or kafka_case.expects("summary-if-skipped.json"):
        assert acl_ids(result) == expected_ids(kafka_case)
        assert users(result) == expected(kafka_case, "scram")
    else:
        assert result.skipped


def test_every_moment_that_kafka_was_asked_for(kafka_case: KafkaCase) -> None:
    name = next(
        (n for n in ("acls-at.json", "acls-at-if-skipped.json") if kafka_case.expects(n)), None
    )
    if name is None or kafka_case.is_invalid:
        return
    source = open_source(str(kafka_case.log_dir), environ={})
    for offset, ids in kafka_case.json(name).items():
        result = replay_source(source, at=AtOffset(int(offset)), tolerant=True)
        assert (offset, acl_ids(result)) == (offset, ids)


def test_every_snapshot_as_a_source_of_its_own(kafka_case: KafkaCase) -> None:
    for path in sorted(kafka_case.metadata_dir.glob("*.checkpoint")):
        records = kafka_case.json_lines(f"snapshot-{path.stem}.records.jsonl")
        result = replayed(path)
        assert acl_ids(result) == sorted(
            record["data"]["id"]
            for record in records
            if record.get("type") == "ACCESS_CONTROL_ENTRY_RECORD"
        )
        assert result.snapshot is not None
        assert str(result.snapshot) == path.stem


def surveyed(path: Path) -> RecordCounts:
    counts = RecordCounts()
    replayed = replay_source(open_source(str(path), environ={}), tolerant=True, notes=counts)
    assert survey_rest(replayed, counts) is None
    return counts


def test_a_survey_counts_every_record(kafka_case: KafkaCase) -> None:
    records = kafka_case.json_lines("records.jsonl")
    if "/invalid-" in kafka_case.name:
        with pytest.raises(CorruptLog):
            surveyed(kafka_case.log_dir)
        return
    counts = surveyed(kafka_case.log_dir)
    assert counts.total() == len(records)
    named = Counter(record.get("type", record.get("control")) for record in records)
    if not any("undecodable" in record for record in records):
        assert counts == named


def test_a_survey_of_a_snapshot_counts_what_is_in_it() -> None:
    case = kafka_case("trimmed-4.3")
    path = case.metadata_dir / snapshot_name(SnapshotId(723, 1))
    counts = surveyed(path)
    records = case.json_lines(f"snapshot-{path.stem}.records.jsonl")
    assert counts == Counter(record.get("type", record.get("control")) for record in records)


@pytest.mark.parametrize("uncommitted", [0, 1, 2])
def test_the_folders_of_a_quorum_give_what_was_committed(uncommitted: int) -> None:
    case = kafka_case("quorum-4.3/node-12-uncommitted")
    names = ["node-11", "node-13"]
    names.insert(uncommitted, "node-12-uncommitted")
    text = "+".join(str(kafka_case(f"quorum-4.3/{name}").log_dir) for name in names)
    result = replayed(text)
    final = kafka_case("quorum-4.3/node-13")
    assert acl_ids(result) == expected_ids(final)
    assert result.bounds.high_watermark == result.bounds.end == 265
    assert result.proven.offset == 265
    at_the_fork = replayed(text, at=AtOffset(207))
    assert acl_ids(at_the_fork) == [acl["id"] for acl in case.json("acls.json")]


def test_committed_leaves_out_what_one_folder_does_not_prove() -> None:
    case = kafka_case("quorum-4.3/node-12-uncommitted")
    assert acl_ids(replayed(case.log_dir)) == expected_ids(case)
    assert replayed(case.log_dir).proven.offset == 0
    unproven = replayed(case.log_dir, committed=True)
    assert acl_ids(unproven) == []
    assert unproven.problems == (
        "nothing is proven to be committed: no snapshot, and other voters may hold other records",
    )
    node = kafka_case("quorum-4.3/node-13")
    assert replayed(node.log_dir, committed=True).offset == 263
    assert replayed(node.log_dir, committed=True, at=AtOffset(229)).offset == 229
    assert replayed(node.log_dir, committed=True, at=AtOffset(264)).offset == 263
    alone = kafka_case("basic-4.3")
    assert replayed(alone.log_dir, committed=True).image == replayed(alone.log_dir).image


def test_a_formatted_folder_shows_its_bootstrap_records(tmp_path: Path) -> None:
    case = kafka_case("basic-4.3")
    for name in ("meta.properties", "bootstrap.checkpoint"):
        shutil.copy(case.log_dir / name, tmp_path)
    result = replayed(tmp_path)
    records = case.json_lines("bootstrap.records.jsonl")
    expected = [
        record["data"]["name"]
        for record in records
        if record.get("type") == "USER_SCRAM_CREDENTIAL_RECORD"
    ]
    assert len(expected) > 1
    assert sorted(str(each["user"]) for each in users(result)) == sorted(expected)
    assert result.offset == 0
    assert (result.ready, result.is_bootstrap) == (False, True)
    assert not replayed(case.log_dir).is_bootstrap


def test_the_snapshot_of_offset_0_is_no_state() -> None:
    """Nothing is committed there; its users come with the log's first transaction (4.4.0)."""
    case = kafka_case("unstable-4.4")
    records = case.json_lines("records.jsonl")
    end = next(each["offset"] for each in records if each.get("type") == "END_TRANSACTION_RECORD")
    formatted = replayed(case.metadata_dir / "00000000000000000000-0000000000.checkpoint")
    assert users(formatted)
    for offset in (0, 1, end):
        early = replayed(case.log_dir, at=AtOffset(offset))
        assert (early.snapshot, list(users(early))) == (None, [])
        assert early.image.features.metadata_version is None
    assert list(users(replayed(case.log_dir, at=AtOffset(end + 1)))) == list(users(formatted))


class ChangingFolder(LocalFiles):
    """A disk on which ``change`` alters a folder before the next look at it."""

    change: Callable[[], object] | None = None

    def names(self, folder: Path) -> list[str]:
        if self.change is not None:
            self.change()
            self.change = None
        return super().names(folder)


def log_of_three_batches(folder: Path) -> tuple[Path, Path]:
    first, second = folder / segment_name(0), folder / segment_name(2)
    first.write_bytes(encode_batch(batch(0, ace(1))) + encode_batch(batch(1, ace(2))))
    second.write_bytes(encode_batch(batch(2, ace(3))))
    return first, second


def test_a_log_that_is_cut_while_it_is_read_is_not_taken_for_whole(tmp_path: Path) -> None:
    first, second = log_of_three_batches(tmp_path)

    def trim() -> None:
        content = b"".join(map(encode_batch, snapshot(ace(1), ace(2))))
        (tmp_path / snapshot_name(SnapshotId(2, 1))).write_bytes(content)
        first.unlink()

    for change in (lambda: second.write_bytes(b""), trim):
        files = ChangingFolder()
        source = open_source(str(tmp_path), environ={}, files=files)
        assert source.log.bounds().end == 3
        files.change = change
        with pytest.raises(InvalidSource, match="truncated while it was read"):
            replay_source(source, tolerant=True)
        log_of_three_batches(tmp_path)


def test_an_empty_snapshot_is_named_and_the_log_used(tmp_path: Path) -> None:
    log_of_three_batches(tmp_path)
    empty = tmp_path / snapshot_name(SnapshotId(2, 1))
    empty.write_bytes(b"")
    result = replayed(tmp_path)
    assert len(result.image.acls) == 3
    [problem] = result.problems
    assert problem.startswith(f"{empty}, byte 0: the snapshot is empty")
    assert problem.endswith("; used instead: the log from its beginning")


def test_a_segment_alone_says_what_it_lacks() -> None:
    path = kafka_case("trimmed-4.3").metadata_dir / segment_name(811)
    result = replayed(path)
    assert result.problems == (f"{path}: the records before offset 811 are not in this file",)


def test_progress_is_told() -> None:
    steps: list[tuple[int, int]] = []
    replay_source(
        open_source(str(kafka_case("basic-4.3").log_dir), environ={}),
        progress=lambda reached, end: steps.append((reached, end)),
    )
    assert steps[-1] == (574, 574)
    assert steps == sorted(steps)


class TestDamagedSnapshot:
    """``trimmed-4.3`` begins at 608 with a snapshot at 723; ``quorum/node-11`` at 0."""

    @pytest.fixture
    def whole(self, tmp_path: Path) -> Path:
        return self._copy("quorum-4.3/node-11", tmp_path)

    @pytest.fixture
    def trimmed(self, tmp_path: Path) -> Path:
        return self._copy("trimmed-4.3", tmp_path)

    def _copy(self, name: str, tmp_path: Path) -> Path:
        target = tmp_path / "copy"
        shutil.copytree(kafka_case(name).log_dir, target)
        for path in target.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        return target

    def _cut(self, log_dir: Path, id: SnapshotId, by: int = 1) -> Path:
        path = log_dir / "__cluster_metadata-0" / snapshot_name(id)
        path.write_bytes(path.read_bytes()[:-by])
        return path

    def test_an_older_one_and_the_log_take_its_place(self, whole: Path) -> None:
        path = self._cut(whole, SnapshotId(229, 4))
        result = replayed(whole)
        assert acl_ids(result) == expected_ids(kafka_case("quorum-4.3/node-11"))
        assert result.snapshot == SnapshotId(110, 2)
        [problem] = result.problems
        assert str(path) in problem
        assert problem.endswith("; used instead: an older snapshot and the log")

    def test_the_log_alone_takes_the_place_of_all(self, whole: Path) -> None:
        self._cut(whole, SnapshotId(229, 4))
        self._cut(whole, SnapshotId(110, 2), by=500)
        result = replayed(whole)
        assert acl_ids(result) == expected_ids(kafka_case("quorum-4.3/node-11"))
        assert result.snapshot is None
        assert len(result.problems) == 2
        for problem in result.problems:
            assert problem.endswith("; used instead: the log from its beginning")

    def test_nothing_takes_the_place_of_the_only_one(self, trimmed: Path) -> None:
        path = self._cut(trimmed, SnapshotId(723, 1))
        with pytest.raises(CorruptLog) as caught:
            replayed(trimmed)
        assert caught.value.file == str(path)
        for snapshot_file in (path, path.with_name("copy.checkpoint")):
            path = path.rename(snapshot_file)
            with pytest.raises(CorruptLog):
                replayed(path)

    @pytest.mark.parametrize("by", [1, 60, 75, 90])
    def test_salvage_takes_what_is_left(self, trimmed: Path, by: int) -> None:
        path = self._cut(trimmed, SnapshotId(723, 1), by)
        result = replayed(trimmed, salvage=True)
        assert "salvaged" in result.problems[0]
        if by <= 75:
            assert acl_ids(result) == expected_ids(kafka_case("trimmed-4.3"))
        assert replayed(path, salvage=True).snapshot == SnapshotId(723, 1)

    def test_a_snapshot_of_another_epoch_than_its_name(self, trimmed: Path) -> None:
        folder = trimmed / "__cluster_metadata-0"
        path = folder / snapshot_name(SnapshotId(723, 1))
        path.rename(folder / snapshot_name(SnapshotId(723, 0)))
        with pytest.raises(CorruptSnapshot, match="epoch 1 in a snapshot of epoch 0"):
            replayed(trimmed)

    def test_a_damaged_bootstrap_cannot_be_salvaged(self, whole: Path) -> None:
        shutil.rmtree(whole / "__cluster_metadata-0")
        path = whole / "bootstrap.checkpoint"
        path.write_bytes(path.read_bytes()[:-1])
        for salvage in (False, True):
            with pytest.raises(CorruptLog) as caught:
                replayed(whole, salvage=salvage)
            assert caught.value.file == str(path)

    def test_damage_in_the_log_stops_and_salvage_reads_up_to_it(self, trimmed: Path) -> None:
        path = trimmed / "__cluster_metadata-0" / segment_name(811)
        data = bytearray(path.read_bytes())
        data[1000] ^= 1
        path.write_bytes(data)
        with pytest.raises(CorruptLog) as caught:
            replayed(trimmed)
        assert (caught.value.file, caught.value.byte) == (str(path), 982)
        assert caught.value.offset == 826
        assert replayed(trimmed, at=AtOffset(826)).offset == 826
        salvaged = replayed(trimmed, salvage=True)
        assert salvaged.image == replayed(trimmed, at=AtOffset(826)).image
        assert "salvaged: the part before it" in salvaged.problems[0]

    def test_salvage_of_a_segment(self, whole: Path) -> None:
        path = whole / "__cluster_metadata-0" / segment_name(0)
        data = bytearray(path.read_bytes())
        data[15000] ^= 1
        path.write_bytes(data)
        with pytest.raises(CorruptLog) as caught:
            replayed(path)
        salvaged = replayed(path, salvage=True)
        assert salvaged.offset == caught.value.offset
        assert salvaged.image.provenance.offset == caught.value.offset

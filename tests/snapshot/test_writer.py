"""Our snapshot equals the image, and is complete or missing."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from metalog.ids import SnapshotId
from metalog.image.manifest import Provenance
from metalog.image.metadata import EMPTY, MetadataImage
from metalog.log.folder.layout import avro_snapshot_name, snapshot_name
from metalog.records.messages import KRaftVersionRecord
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from snapshot.writer import write_snapshot
from tests.support.disk.memory_disk import MemoryDisk
from tests.support.kafka.cases import KafkaCase, kafka_case

FOLDER = Path("/log-dir/__cluster_metadata-0")


def image_of(source: Path) -> MetadataImage:
    return replay_source(open_source(str(source), environ={}), tolerant=True).image


@pytest.mark.parametrize("in_avro", [False, True])
def test_every_image_comes_back(kafka_case: KafkaCase, tmp_path: Path, in_avro: bool) -> None:
    if kafka_case.is_invalid:
        return
    image = image_of(kafka_case.log_dir)
    path = write_snapshot(image, tmp_path, timestamp=1000, in_avro=in_avro)
    name_of = avro_snapshot_name if in_avro else snapshot_name
    assert path.name == name_of(SnapshotId(*image.provenance[:2]))
    assert image_of(path) == image
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("in_avro", [False, True])
def test_equal_images_give_equal_bytes(tmp_path: Path, in_avro: bool) -> None:
    image = image_of(kafka_case("basic-4.3").log_dir)
    path = write_snapshot(image, tmp_path, timestamp=1000, in_avro=in_avro)
    written = path.read_bytes()
    again = write_snapshot(image_of(path), tmp_path, timestamp=1000, in_avro=in_avro)
    assert (again, again.read_bytes()) == (path, written)


def test_it_is_synced_before_it_has_its_name() -> None:
    disk = MemoryDisk({})
    image = EMPTY._replace(provenance=Provenance(5, 1, 900))
    path = write_snapshot(image, FOLDER, timestamp=1000, files=disk)
    name = snapshot_name(SnapshotId(5, 1))
    assert path == FOLDER / name
    part = disk.steps[0].removeprefix("create ")
    assert re.fullmatch(rf"{name}\.[0-9a-f]{{8}}\.part", part)
    assert [step for step in disk.steps if not step.startswith("write")] == [
        f"create {part}",
        f"sync {part}",
        f"rename {part} {name}",
        "sync __cluster_metadata-0/",
    ]
    assert disk.steps.index(f"sync {part}") > max(
        at for at, step in enumerate(disk.steps) if step.startswith("write")
    )


@pytest.mark.parametrize("in_avro", [False, True])
def test_a_failing_disk_leaves_the_old_one_or_the_new_one(in_avro: bool) -> None:
    image = image_of(kafka_case("basic-4.3").log_dir)
    name_of = avro_snapshot_name if in_avro else snapshot_name
    path = FOLDER / name_of(SnapshotId(*image.provenance[:2]))
    sound = MemoryDisk({path: b"old"})
    write_snapshot(image, FOLDER, timestamp=1000, files=sound, in_avro=in_avro)
    for step, what in enumerate(sound.steps):
        disk = MemoryDisk({path: b"old"}, fail_at=step)
        with pytest.raises(OSError, match="No space left"):
            write_snapshot(image, FOLDER, timestamp=1000, files=disk, in_avro=in_avro)
        is_renamed = what.startswith("sync __cluster")
        assert disk.contents == ({path: sound.contents[path]} if is_renamed else {path: b"old"})


@pytest.mark.parametrize("in_avro", [False, True])
def test_the_quorums_own_records_go_behind_the_header(tmp_path: Path, in_avro: bool) -> None:
    image = EMPTY._replace(provenance=Provenance(5, 1, 900))
    version = KRaftVersionRecord(0, 1)
    path = write_snapshot(image, tmp_path, timestamp=1000, control=[(version, 0)], in_avro=in_avro)
    log = open_source(str(path), environ={}).log
    messages = [m for batch in log.open_snapshot(SnapshotId(5, 1)) for m in batch.messages()]
    assert messages[0].last_contained_log_timestamp == 900
    assert messages[1] == version


def test_an_older_one_that_was_never_finished_goes_when_a_newer_one_is_whole(
    tmp_path: Path,
) -> None:
    image = EMPTY._replace(provenance=Provenance(5, 1, 900))
    older, newer = (snapshot_name(SnapshotId(end, 1)) + ".part" for end in (4, 6))
    for name in (older, newer):
        (tmp_path / name).write_bytes(b"half")
    path = write_snapshot(image, tmp_path, timestamp=1000)
    assert {each.name for each in tmp_path.iterdir()} == {path.name, newer}


@pytest.mark.parametrize("in_avro", [False, True])
def test_two_can_write_one_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_avro: bool
) -> None:
    image = image_of(kafka_case("basic-4.3").log_dir)
    sync = os.fsync

    def second(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", sync)
        write_snapshot(image, tmp_path, timestamp=1000, in_avro=in_avro)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", second)
    path = write_snapshot(image, tmp_path, timestamp=1000, in_avro=in_avro)
    assert os.fsync is sync
    assert image_of(path) == image
    assert list(tmp_path.iterdir()) == [path]

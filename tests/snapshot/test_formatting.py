"""The contents of a formatted folder, and the folders that are not formatted."""

import random
from pathlib import Path

import pytest

from metalog import DirectoryLog, Replica, WritableDirectoryLog
from metalog.controller.result import ControllerResult
from metalog.errors import InvalidRequest, InvalidTarget
from metalog.ids import Uuid, parse_uuid, uuid_text
from metalog.records.messages import FeatureLevelRecord
from metalog.records.messages.voters_record import Endpoint
from snapshot.formatting import Controller, Format, Formatted, format_directories
from snapshot.initial_features import initial_features, metadata_version_of
from tests.support.disk.memory_disk import MemoryDisk
from tests.support.disk.tiny_log import ace

RECORDS = [(FeatureLevelRecord("metadata.version", 30), 0), (ace(1), 0)]
CONTROLLER = Controller(1, Endpoint("CONTROLLER", "localhost", 9093))


def formatted(folder: Path, **options: object) -> list[Formatted]:
    wanted = Format(folder, [folder], 1, RECORDS, controllers=[CONTROLLER])._replace(**options)
    return format_directories(wanted, now_ms=1000, entropy=random.Random(1).randbytes)


def test_a_folder_says_whose_it_is_and_what_it_begins_with(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "node"
    [made] = formatted(folder)
    log = DirectoryLog(folder)
    assert log.problems == ()
    properties = log.meta_properties
    assert properties == (made.cluster_id, 1, made.directory_id, "1")
    assert log.voters.ids == (1,)
    assert made.directory_id is not None
    assert parse_uuid(made.directory_id) != parse_uuid(made.cluster_id)
    with Replica(WritableDirectoryLog(folder)) as replica:
        replica.submit(lambda image: ControllerResult((), None)).result()
        assert len(replica.image.acls) == 1


def test_from_4_4_on_it_begins_with_a_snapshot(tmp_path: Path) -> None:
    """Our own node starts on both kinds."""
    newer = [(FeatureLevelRecord("metadata.version", 31), 0), *RECORDS[1:]]
    formatted(tmp_path / "new", records=newer)
    folder = tmp_path / "new"
    assert not (folder / "bootstrap.checkpoint").exists()
    log = DirectoryLog(folder)
    assert (log.problems, log.voters.ids) == ((), (1,))
    with Replica(WritableDirectoryLog(folder)) as replica:
        replica.submit(lambda image: ControllerResult((), None)).result()
        assert len(replica.image.acls) == 1
        assert replica.image.features.metadata_version == 31
        assert replica.kraft_version == 1
    formatted(tmp_path / "brokers", records=newer, controllers=(), is_controller=False)
    assert [each.name for each in (tmp_path / "brokers").iterdir()] == ["meta.properties"]


def test_several_voters_know_each_others_folders(tmp_path: Path) -> None:
    ids = [Uuid(bytes([number] * 16)) for number in (1, 2)]
    endpoints = [Endpoint("CONTROLLER", f"host-{number}", 9093) for number in (1, 2)]
    both = [Controller(*each) for each in zip((1, 2), endpoints, ids, strict=True)]
    for number in (1, 2, 3):
        folder = tmp_path / str(number)
        [made] = formatted(folder, node_id=number, controllers=both[::-1])
        log = DirectoryLog(folder)
        assert log.voters.ids == (1, 2)
        assert (log.meta_properties.directory_id == uuid_text(ids[0])) is (number == 1)
        assert made.kind == f"dynamic metadata {'' if number == 3 else 'voter '}directory"
        if number < 3:
            with pytest.raises(InvalidTarget):
                WritableDirectoryLog(folder).claim()


def test_a_data_directory_has_no_log(tmp_path: Path) -> None:
    node, data = tmp_path / "node", tmp_path / "data"
    kinds = {each.directory: each.kind for each in formatted(node, directories=[node, data])}
    assert kinds == {node: "dynamic metadata voter directory", data: "data directory"}
    assert sorted(path.name for path in data.iterdir()) == [
        "bootstrap.checkpoint",
        "meta.properties",
    ]


def test_what_is_formatted_is_not_formatted_again(tmp_path: Path) -> None:
    node, data = tmp_path / "node", tmp_path / "data"
    [first] = formatted(node)
    before = {path: path.read_bytes() for path in node.rglob("*") if path.is_file()}
    with pytest.raises(InvalidTarget, match="already formatted"):
        formatted(node)
    again = formatted(node, directories=[node, data], ignore_formatted=True)
    assert {each.directory: each.is_new for each in again} == {node: False, data: True}
    assert {each.cluster_id for each in again} == {first.cluster_id}
    assert {path: path.read_bytes() for path in node.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("options", "why"),
    [({"cluster_id": "another"}, "not another"), ({"node_id": 7}, "for node 1, not 7")],
)
def test_folders_of_another_node_stay(tmp_path: Path, options: dict, why: str) -> None:  # type: ignore[type-arg]
    formatted(tmp_path / "node")
    with pytest.raises(InvalidTarget, match=why):
        formatted(tmp_path / "node", ignore_formatted=True, **options)


def test_a_log_without_its_meta_properties_is_not_overwritten(tmp_path: Path) -> None:
    formatted(tmp_path)
    WritableDirectoryLog(tmp_path).claim()
    (tmp_path / "meta.properties").unlink()
    with pytest.raises(InvalidTarget, match="restore that file, or name an empty folder"):
        formatted(tmp_path)


def test_meta_properties_come_last(tmp_path: Path) -> None:
    """If formatting fails at any step, the folder is not formatted, and can be formatted again."""
    trial = MemoryDisk({})
    wanted = Format(tmp_path, [tmp_path], 1, RECORDS, controllers=[CONTROLLER])
    entropy = random.Random(1).randbytes
    format_directories(wanted, now_ms=1, entropy=entropy, files=trial)
    last = trial.steps.index("rename .meta.properties.tmp meta.properties")
    for fail_at in range(last + 1):
        disk = MemoryDisk({}, fail_at=fail_at)
        with pytest.raises(OSError, match="No space"):
            format_directories(wanted, now_ms=1, entropy=entropy, files=disk)
        assert not disk.is_file(tmp_path / "meta.properties")
        disk._fail_at = None
        format_directories(wanted, now_ms=1, entropy=entropy, files=disk)


@pytest.mark.parametrize("first", [30, 33], ids=["4.3", "4.4"])
@pytest.mark.parametrize("second", [30, 33], ids=["4.3", "4.4"])
@pytest.mark.parametrize("voters", [(), (CONTROLLER,)], ids=["static", "dynamic"])
def test_nothing_of_an_unfinished_format_stays(
    tmp_path: Path, first: int, second: int, voters: tuple[Controller, ...]
) -> None:
    def level(number: int) -> tuple[FeatureLevelRecord, int]:
        return FeatureLevelRecord("metadata.version", number), 0

    formatted(tmp_path / "node", records=[level(first), (ace(1, "unwanted"), 0)])
    (tmp_path / "node" / "meta.properties").unlink()
    for folder in ("node", "other"):
        formatted(tmp_path / folder, records=[level(second)], controllers=voters)
    left, wanted = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.checkpoint")}
        for folder in (tmp_path / "node", tmp_path / "other")
    )
    assert left == wanted


@pytest.mark.parametrize(
    ("release", "level"),
    [
        ("4.4", 33), ("4.4.0", 33), ("4.4-IV1", 32), ("4.3", 30), ("4.3.1", 30), ("4.3-IV0", 30),
        ("3.7", 19), ("3.5-IV2", 11), ("3.3-IV3", 7),
    ],
)  # fmt: skip
def test_releases(release: str, level: int) -> None:
    assert metadata_version_of(release) == level


@pytest.mark.parametrize("release", ["4.5", "4.5-IV0", "3.2", "3.0-IV1", "", "4", "five"])
def test_releases_that_kafka_does_not_format(release: str) -> None:
    with pytest.raises(InvalidRequest, match="unknown release version"):
        metadata_version_of(release)


def test_an_unstable_release_is_named_in_full() -> None:
    """As Kafka 4.4.0's MetadataVersion.fromVersionString reads the names."""
    assert metadata_version_of("4.5-IV0", allows_unstable=True) == 34
    assert metadata_version_of("4.4", allows_unstable=True) == 33
    with pytest.raises(InvalidRequest, match=r"3\.3-IV3 to 4\.5-IV0"):
        metadata_version_of("4.5", allows_unstable=True)
    chosen = {"metadata.version": 34}
    assert initial_features(None, chosen, allows_unstable=True)["metadata.version"] == 34


@pytest.mark.parametrize(
    ("release", "chosen", "why"),
    [
        (None, {"nonsense": 1}, "unknown feature"),
        (None, {"group.version": 9}, "the levels of this feature are 0, 1"),
        ("3.9", {"eligible.leader.replicas.version": 1}, "needs metadata.version 4.0-IV1"),
        ("4.3", {"metadata.version": 30}, "already sets metadata.version"),
        (None, {"metadata.version": 34}, "accepts 7 to 33"),
        (None, {"share.version": 2}, "needs metadata.version 4.4-IV0"),
    ],
)
def test_features_that_kafka_refuses(release: str | None, chosen: dict[str, int], why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        initial_features(release, chosen)


def test_a_feature_of_level_0_is_left_out() -> None:
    assert "group.version" not in initial_features("4.3", {"group.version": 0})
    assert initial_features(None, {"metadata.version": 7}) == {"metadata.version": 7}

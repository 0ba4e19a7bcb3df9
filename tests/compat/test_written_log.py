"""Kafka continues a log that it wrote and we continued; its tools find no fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalog import DirectoryLog, Replica, WritableDirectoryLog
from metalog.acl import AccessControlEntryFilter as EntryFilter
from metalog.acl import Acl, AclFilter
from metalog.controller.scram import AlterScramRequest, ScramDeletion
from metalog.errors import InvalidTarget
from metalog.image.metadata import MetadataImage
from metalog.log.config import LogConfig
from snapshot.upkeep import Upkeep
from tests.support.disk.written_log import image_in
from tests.support.kafka.case_maker import bindings_listed
from tests.support.kafka.made_now import FIRST, GONE, STAYS, USERS, MadeNow, add_first
from tests.support.kafka.tools import KafkaTools, RealKafka
from tests.support.worlds.small_acls import allow

pytestmark = pytest.mark.xdist_group("real-kafka")

SMALL = LogConfig(
    segment_bytes=12_000, bytes_between_snapshots=8_000, retention_bytes=60_000, retention_ms=-1
)
"""Small, so that there are several segments, and snapshots with a dynamic quorum."""


def acl(name: str, principal: str) -> Acl:
    return allow(name, principal=principal, prefixed=True)


def names_in(image: MetadataImage) -> set[str]:
    return {each.resource_name for each in image.acls.by_id.values()}


def check_with_kafkas_tool(tools: KafkaTools, partition: Path) -> None:
    main = "org.apache.kafka.tools.DumpLogSegments"
    for snapshot in partition.glob("*.checkpoint"):
        assert "SnapshotFooter" in tools.dump_log(snapshot)
    for suffix, options in (
        ("log", ("--cluster-metadata-decoder",)),
        ("index", ("--index-sanity-check",)),
        ("timeindex", ("--index-sanity-check",)),
        ("index", ("--verify-index-only",)),
        ("timeindex", ("--verify-index-only",)),
    ):
        files = sorted(map(str, partition.glob(f"*.{suffix}")))
        assert files
        said = tools.run(main, *options, "--files", ",".join(files))
        for complaint in ("ismatch", "not found", "orrupt", "out of order", "isvalid: false"):
            assert complaint not in said
        if "--index-sanity-check" in options:
            assert said.count("passed sanity check") + said.count("is empty") == len(files)


@pytest.fixture(params=[False, True], ids=["static", "dynamic"])
def dynamic(request: pytest.FixtureRequest) -> bool:
    """Whether the log itself names the voters."""
    return request.param


@pytest.fixture
def kafka(
    dynamic: bool, request: pytest.FixtureRequest, kafka_tools: KafkaTools, tmp_path: Path
) -> RealKafka:
    if not dynamic:
        made_now: MadeNow = request.getfixturevalue("made_now")
        return made_now.kafka
    with RealKafka.started(kafka_tools, tmp_path, format_options=USERS, dynamic=True) as kafka:
        add_first(kafka)
        with pytest.raises(InvalidTarget, match=r"a running node holds its \.lock"):
            WritableDirectoryLog(kafka.log_dir).claim()
    return kafka


def test_kafka_goes_on_where_we_went_on(
    kafka_tools: KafkaTools, kafka: RealKafka, dynamic: bool
) -> None:
    before = (kafka.metadata_dir / "quorum-state").read_bytes()

    log = WritableDirectoryLog(kafka.log_dir, limits=SMALL.segment_limits)
    with Replica(log, publishers=[Upkeep(log, SMALL)] if dynamic else []) as replica:
        [deleted] = replica.delete_acls(
            None, [AclFilter(pattern=AclFilter().pattern._replace(name=FIRST))]
        )
        assert len(deleted.result().deleted) == 1
        for number in range(100):
            [created] = replica.create_acls(None, [acl(f"ours-{number}-{'x' * 200}", "User:m")])
            assert not created.result()
        scram = replica.alter_scram(AlterScramRequest(deletions=[ScramDeletion(GONE, 1)]))
        assert not scram.result()[GONE]
        assert replica.publisher_faults == ()
    ours = image_in(kafka.log_dir)
    assert (DirectoryLog(kafka.log_dir).bounds().start > 0) == dynamic
    assert dynamic or len(DirectoryLog(kafka.log_dir).folder.segments) > 1
    state = (kafka.metadata_dir / "quorum-state").read_bytes()
    assert before.replace(b'"leaderEpoch":1', b'"leaderEpoch":2') == state
    check_with_kafkas_tool(kafka_tools, kafka.metadata_dir)

    with kafka:
        add = ("--add", "--allow-principal", "User:k", "--operation", "READ")
        kafka.acls(*add, "--topic", "kafkas-third")
        listed = sorted(bindings_listed(kafka.acls("--list")))
        users = kafka.configs("--describe", "--entity-type", "users")
    assert STAYS in users
    assert GONE not in users
    after = image_in(kafka.log_dir)
    assert names_in(after) == names_in(ours) | {"kafkas-third"}
    assert DirectoryLog(kafka.log_dir).bounds().epoch > 2
    assert listed == sorted(
        (
            each.resource_type.name,
            each.resource_name,
            each.pattern_type.name,
            each.principal,
            each.host,
            each.operation.name,
            each.permission_type.name,
        )
        for each in after.acls.by_id.values()
    )
    everything = EntryFilter(principal="User:m")
    with Replica(WritableDirectoryLog(kafka.log_dir)) as replica:
        [deleted] = replica.delete_acls(None, [AclFilter(entry=everything)])
        assert len(deleted.result().deleted) == 100
        if dynamic:
            check_that_it_does_not_start(kafka)


def check_that_it_does_not_start(kafka: RealKafka) -> None:
    with pytest.raises(RuntimeError, match="Kafka did not start"):
        kafka.start()
    assert "Failed to acquire lock on file .lock" in kafka.output.read_text()

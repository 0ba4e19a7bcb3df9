"""A real quorum of three nodes, followed live: we show exactly what it committed.
METALOG_QUORUM_CHANGES=500 makes as many random changes as the issue and a release ask for."""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any, TypeVar
from uuid import uuid4

import pytest

from metalog.errors import ErrorCode, InvalidSource
from metalog.hosts.host_port import parse_addresses
from metalog.ids import SnapshotId
from metalog.image.delta import MetadataDelta
from metalog.image.manifest import Manifest
from metalog.image.metadata import MetadataImage
from metalog.loader import Loader, Ready
from metalog.log.folder.directory import DirectoryLog
from metalog.log.quorum.observer import QuorumLog
from metalog.ports import Appended, Gap, HighWatermark, LogEvent, Truncated
from metalog.records.batch import encode_batch
from metalog.replica.replica import Replica
from metalog.scram import ScramMechanism, salted_password
from metalog.wire.client.connection import Connection, Unreachable
from metalog.wire.client.security import PLAINTEXT, client_settings
from metalog.wire.schema import request_parts
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from snapshot.log_range import read_range
from tests.support.command.runs import Run
from tests.support.kafka.cases import REPOSITORY
from tests.support.kafka.quorum import FOLLOWER, NOBODY, NODES, KafkaQuorum
from tests.support.kafka.tools import CLUSTER_ID
from tests.support.suite.waiting import eventually

pytestmark = pytest.mark.xdist_group("kafka-quorum")

R = TypeVar("R")

CHANGES = int(os.environ.get("METALOG_QUORUM_CHANGES", "60"))
LIMIT_S = 60.0
CREATE_ACLS, DELETE_ACLS, ALTER_SCRAM, DESCRIBE_QUORUM = 30, 31, 51, 55


class Watched:
    """A log that also records its events."""

    def __init__(self, log: QuorumLog) -> None:
        self.log = log
        self.given: list[LogEvent] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self.log, name)

    def read(self, start: int) -> Iterator[LogEvent]:
        for event in self.log.read(start):
            self.given.append(event)
            yield event

    def poll(self, timeout_s: float) -> list[LogEvent]:
        events = list(self.log.poll(timeout_s))
        self.given += events
        return events


class Published:
    """Records each image, and its delay after the last batch."""

    def __init__(self) -> None:
        self.images: list[MetadataImage] = []
        self.delays_ms: list[float] = []

    def publish(self, delta: MetadataDelta, image: MetadataImage, manifest: Manifest) -> None:
        self.images.append(image)
        self.delays_ms.append(time.time() * 1000 - image.provenance.timestamp)


@contextlib.contextmanager
def followed(quorum: KafkaQuorum) -> Iterator[tuple[Replica, Published, Watched]]:
    published = Published()
    with observed(quorum) as bare:
        log = Watched(bare)
        with Replica(log, [published]) as replica:  # type: ignore[arg-type]
            until(lambda: isinstance(replica.state, Ready), "the replica is ready")
            yield replica, published, log


def observed(quorum: KafkaQuorum) -> contextlib.closing[QuorumLog]:
    return contextlib.closing(QuorumLog(quorum.controller_bootstrap))


def until(holds: Callable[[], bool], what: str) -> None:
    assert eventually(holds), what


def leader_of(quorum: KafkaQuorum) -> int:
    """On a busy machine an election may outlast a log's patience."""
    leaders: list[int] = []

    def is_answered() -> bool:
        with contextlib.suppress(InvalidSource), observed(quorum) as log:
            leaders.append(log.leader.id)
        return bool(leaders)

    until(is_answered, "a controller leads")
    return leaders[0]


def quorum_state(quorum: KafkaQuorum) -> tuple[set[int], set[int]]:
    parts = request_parts(DESCRIBE_QUORUM, 2)
    partition = parts.PartitionData(partition_index=0)
    topic = parts.TopicData(topic_name="__cluster_metadata", partitions=(partition,))
    told: list[Any] = []

    def is_told_by_the_leader() -> bool:
        leader = quorum.controllers[leader_of(quorum)]
        told[:] = ask(leader, parts.DescribeQuorumRequest(topics=(topic,))).topics[0].partitions
        return told[0].error_code == ErrorCode.NONE

    until(is_told_by_the_leader, "the leader tells of its quorum")
    return {each.replica_id for each in told[0].current_voters}, {
        each.replica_id for each in told[0].observers
    }


def ask(address: str, request: Any) -> Any:
    """Sends a request to one named node. Admin clients choose the node themselves, and librdkafka
    waits for a minute for a killed one."""
    [parsed] = parse_addresses(address)
    with Connection(parsed, PLAINTEXT) as connection:
        return connection.ask(request)


def creation(topic: str, **parts: Any) -> Any:
    return acls(CREATE_ACLS).AclCreation(**acl_of(topic, **parts))


def acls(api_key: int) -> Any:
    return request_parts(api_key, 3)


def acl_of(topic: str, **parts: Any) -> dict[str, Any]:
    """An ACL in Kafka's codes: LITERAL, User:a, any host, READ, ALLOW, on a topic, except for
    ``parts``."""
    return {
        "resource_type": 2,
        "resource_name": topic,
        "resource_pattern_type": 3,
        "principal": "User:a",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
        **parts,
    }


def create(address: str, *creations: Any) -> None:
    with contextlib.suppress(Unreachable):
        ask(address, acls(CREATE_ACLS).CreateAclsRequest(creations=creations))


def deletion(topic: str, **parts: Any) -> Any:
    known = acl_of(topic, **parts)
    names = {"resource_type": "resource_type_filter", "resource_name": "resource_name_filter"}
    names |= {"resource_pattern_type": "pattern_type_filter"}
    names |= {"principal": "principal_filter", "host": "host_filter"}
    kind = acls(DELETE_ACLS)
    exactly = kind.DeleteAclsFilter(**{names.get(key, key): known[key] for key in known})
    return kind.DeleteAclsRequest(filters=(exactly,))


class RandomChanges:
    """Random changes of few ACLs and users, so that they often collide. A change may fail: the log
    says what was committed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def make_one(self, brokers: Sequence[str]) -> None:
        request = self._random.choice((self._create, self._create, self._delete, self._scram))()
        with contextlib.suppress(Unreachable):
            ask(self._random.choice(brokers), request)

    def _create(self) -> Any:
        topic, parts = self._acl()
        return acls(CREATE_ACLS).CreateAclsRequest(creations=(creation(topic, **parts),))

    def _delete(self) -> Any:
        topic, parts = self._acl()
        return deletion(topic, **parts)

    def _acl(self) -> tuple[str, dict[str, Any]]:
        draw = self._random
        return f"t{draw.randrange(8)}", {
            "resource_pattern_type": draw.choice((3, 4)),
            "principal": f"User:u{draw.randrange(4)}",
            "operation": draw.choice((3, 4)),
            "permission_type": draw.choice((2, 3)),
        }

    def _scram(self) -> Any:
        kind = request_parts(ALTER_SCRAM, 0)
        user, mechanism = f"u{self._random.randrange(4)}", ScramMechanism.SCRAM_SHA_256
        if self._random.random() < 0.3:
            gone = kind.ScramCredentialDeletion(name=user, mechanism=mechanism)
            return kind.AlterUserScramCredentialsRequest(deletions=(gone,), upsertions=())
        salt = self._random.randbytes(16)
        set_to = kind.ScramCredentialUpsertion(
            name=user,
            mechanism=mechanism,
            iterations=4096,
            salt=salt,
            salted_password=salted_password(mechanism, "password", salt, 4096),
        )
        return kind.AlterUserScramCredentialsRequest(deletions=(), upsertions=(set_to,))


def test_each_image_is_that_of_kafkas_own_log_though_leaders_are_killed(
    kafka_quorum: KafkaQuorum, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = RandomChanges(seed=CHANGES)
    dead: int | None = None
    with followed(kafka_quorum) as (replica, published, _):
        for number in range(CHANGES):
            if number in (CHANGES // 3, 2 * CHANGES // 3):
                if dead is not None:
                    kafka_quorum.start(dead)
                dead = leader_of(kafka_quorum)
                kafka_quorum.kill(dead)
            living = [kafka_quorum.brokers[node] for node in NODES if node != dead]
            changes.make_one(living)
            if number % 20 == 0:
                voters, observers = quorum_state(kafka_quorum)
                assert (voters, observers & {-1}) == (set(NODES), set())
                assert observers <= set(NODES)
        with observed(kafka_quorum) as log:
            end = log.bounds().end
        until(lambda: replica.image.provenance.offset >= end, "all that was committed is seen")
        image = replica.image
    assert dead is not None
    kafka_quorum.start(dead)
    lead_with_whole_log(kafka_quorum)
    compare_with_log(published.images, kafka_quorum.metadata_dir(leader_of(kafka_quorum)))
    assert len(image.acls) > 0
    steady = sorted(published.delays_ms[1:])
    with capsys.disabled():
        print(
            f"\nquorum: {CHANGES} changes, {len(published.images)} images; from a record's time "
            f"(before the leader's 25 ms of linger) to our publish: p50 "
            f"{statistics.median(steady):.0f} ms, p99 {steady[len(steady) * 99 // 100]:.0f} ms"
        )


def compare_with_log(images: list[MetadataImage], folder: Path) -> None:
    """Each image equals a replay of the leader's own files up to that offset."""
    replayed = Loader()
    events = (event for event in DirectoryLog(folder).read(0) if isinstance(event, Appended))
    for image in images:
        offset = image.provenance.offset
        while replayed.position < offset:
            replayed.handle(next(events))
        replayed.handle(HighWatermark(offset))
        assert replayed.image.provenance == image.provenance
        assert replayed.image == image


def test_a_record_that_never_was_committed_is_seen_and_never_shown(
    kafka_quorum: KafkaQuorum,
) -> None:
    """Both followers are paused. The leader takes a change that they never get, once their waiting
    fetches are answered (it writes twice a second)."""
    lost, kept = (f"{name}-{uuid4()}" for name in ("lost", "kept"))
    leader = leader_of(kafka_quorum)
    others = [node for node in NODES if node != leader]
    with followed(kafka_quorum) as (replica, published, log), ThreadPoolExecutor(1) as pool:
        kafka_quorum.freeze(*others)
        frozen_ms = time.time() * 1000
        try:
            until(
                lambda: last_written_ms(log) > frozen_ms + 500,
                "what waits at the leader is answered",
            )
            asked = pool.submit(create, kafka_quorum.controllers[leader], creation(lost))
            until(lambda: lost in given_names(log), "the record was sent to us")
            assert lost not in names(replica.image)
        finally:
            kafka_quorum.freeze(leader)
            kafka_quorum.thaw(*others)
        until(lambda: leads(kafka_quorum, others), "another leads")
        create(kafka_quorum.controllers[leader_of(kafka_quorum)], creation(kept))
        until(lambda: kept in names(replica.image), "the change that was committed is shown")
        kafka_quorum.thaw(leader)
        assert any(isinstance(event, Truncated) for event in log.given)
        asked.exception(timeout=LIMIT_S)
        assert all(lost not in names(image) for image in published.images)
    until(lambda: in_sync(kafka_quorum), "all three follow again")


def lead_with_whole_log(quorum: KafkaQuorum) -> None:
    """A node that lost records may have begun again with another node's snapshot."""
    until(lambda: in_sync(quorum), "all three follow")
    while DirectoryLog(quorum.metadata_dir(leader := leader_of(quorum))).bounds().start:
        others = [node for node in NODES if node != leader]
        quorum.freeze(leader)
        until(partial(leads, quorum, others), "another leads")
        quorum.thaw(leader)
        until(lambda: in_sync(quorum), "all three follow again")


def leads(quorum: KafkaQuorum, nodes: list[int]) -> bool:
    return leader_of(quorum) in nodes


def in_sync(quorum: KafkaQuorum) -> bool:
    ends = {DirectoryLog(quorum.metadata_dir(node)).bounds().end for node in NODES}
    return max(ends) - min(ends) < 10


def names(image: MetadataImage) -> set[str]:
    return {acl.resource_name for acl in image.acls.by_id.values()}


def last_written_ms(log: Watched) -> int:
    return max(each.batch.max_timestamp for each in log.given if isinstance(each, Appended))


def given_names(log: Watched) -> set[str]:
    return {
        getattr(message, "resource_name", "")
        for event in tuple(log.given)
        if isinstance(event, Appended)
        for message in event.batch.messages()
    }


def test_over_tls_a_user_with_cluster_action_may_follow_and_nobody_else(
    kafka_quorum: KafkaQuorum, tmp_path: Path
) -> None:
    quorum = kafka_quorum
    bootstrap = ",".join(quorum.secure_controllers.values())
    may_follow = {"resource_type": 4, "principal": f"User:{FOLLOWER}", "operation": 9}
    create(quorum.brokers[1], creation("kafka-cluster", **may_follow))
    for mechanism in ("SCRAM-SHA-512", "PLAIN"):
        settings = client_settings(quorum.client_settings(FOLLOWER, mechanism))
        with contextlib.closing(QuorumLog(bootstrap, settings)) as log:
            assert log.leader.id in NODES
            assert log.cluster_id is None
            assert sum(isinstance(event, Appended) for event in log.read(0)) > 3
    refused = {
        "following the log needs CLUSTER_ACTION": quorum.client_settings(NOBODY, "PLAIN"),
        "refused the login: Authentication failed": quorum.client_settings(
            FOLLOWER, "SCRAM-SHA-512", "wrong"
        ),
        "does not offer SASL mechanism SCRAM-SHA-256; it offers ": quorum.client_settings(
            FOLLOWER, "SCRAM-SHA-256"
        ),
        "its certificate is not trusted": {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": quorum.client_settings(NOBODY, "PLAIN")["sasl.jaas.config"],
        },
        "it speaks TLS, and wants SSL or SASL_SSL": {"client.id": "plain"},
    }
    for said, properties in refused.items():
        file = tmp_path / "client.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        source = open_source(f"quorum://{bootstrap}", environ={}, command_config=file)
        with pytest.raises(InvalidSource) as raised:
            source.log.bounds()
        assert said in str(raised.value)
        assert "\n" not in str(raised.value)


def test_commands_for_a_quorum_name_the_readers_settings_and_say_what_they_lack(
    kafka_quorum: KafkaQuorum, tmp_path: Path, run: Run
) -> None:
    """A follower needs CLUSTER_ACTION alone; kafka-acls needs ALTER, also at controllers."""
    quorum = kafka_quorum
    controllers = ",".join(quorum.secure_controllers.values())
    settings = tmp_path / "my follower.properties"
    login = quorum.client_settings(FOLLOWER, "SCRAM-SHA-512")
    settings.write_text("".join(f"{key}={value}\n" for key, value in login.items()))
    on_cluster = {"resource_type": 4, "principal": f"User:{FOLLOWER}"}
    create(quorum.brokers[1], creation("kafka-cluster", **on_cluster, operation=9))
    source = (f"quorum://{controllers}", "--command-config", settings)
    question = ("User:app", "READ", "topic:repaired", "--super-users", "User:ANONYMOUS")
    lacks = f"these commands need ALTER on the cluster, which no ACL allows User:{FOLLOWER}:"

    def remedy() -> tuple[str, list[str]]:
        said = run("explain", *source, *question)
        assert said.returncode == 0, said.stderr
        lines = [line.strip() for line in said.stdout.splitlines()]
        command = next(line for line in lines if line.startswith("kafka-acls "))
        tool, *words = shlex.split(command)
        where = ["--bootstrap-controller", controllers, "--command-config", str(settings)]
        assert (tool, words[:4]) == ("kafka-acls", where)
        return said.stdout, words

    said, words = remedy()
    assert lacks in said
    main = "org.apache.kafka.tools.AclCommand"
    refused = quorum.tools.answer(main, *words)
    assert "ClusterAuthorizationException" in refused.out
    create(quorum.brokers[1], creation("kafka-cluster", **on_cluster, operation=7))
    try:
        said, words = remedy()
        assert lacks not in said
        quorum.tools.run(main, *words)
        assert run("can", *source, *question).returncode == 0
    finally:
        ask(quorum.brokers[1], deletion("kafka-cluster", **on_cluster, operation=7))


@contextlib.contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A running ``metalog ARGUMENTS``, killed at the end or after a limit."""
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "shell.main", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    ) as process:
        patience = Timer(LIMIT_S, process.kill)
        patience.start()
        try:
            yield process
        finally:
            patience.cancel()
            process.kill()


def test_the_shell_shows_what_is_there_at_each_command(kafka_quorum: KafkaQuorum) -> None:
    with started("shell", f"quorum://{kafka_quorum.controller_bootstrap}") as shell:

        def said(line: str) -> str:
            shell.stdin.write(f"{line}\npwd\n")
            shell.stdin.flush()
            return "".join(iter(next_line, "/\n"))

        def next_line() -> str:
            read = shell.stdout.readline()
            assert read, shell.stderr.read()
            return read

        assert "typed-just-now" not in said("tree /acl")
        create(kafka_quorum.brokers[1], creation("typed-just-now"))
        assert "typed-just-now" in said("tree /acl")
        shell.stdin.close()
        assert shell.wait(timeout=LIMIT_S) == 0
        assert shell.stderr.read() == ""


@pytest.mark.parametrize("begin", ["0", "-1h"])
def test_history_prints_each_change_as_it_commits(begin: str, kafka_quorum: KafkaQuorum) -> None:
    source = f"quorum://{kafka_quorum.controller_bootstrap}"
    before, meanwhile = (f"{name}-{uuid4()}" for name in ("before", "meanwhile"))
    create(kafka_quorum.brokers[1], creation(before))
    with started("history", source, "--from", begin, "--follow", "--json") as history:
        assert any(before in line for line in history.stdout), history.stderr.read()
        create(kafka_quorum.brokers[1], creation(meanwhile))
        assert any(meanwhile in line for line in history.stdout), history.stderr.read()


def test_a_brokers_listener_is_told_from_a_controllers(kafka_quorum: KafkaQuorum) -> None:
    with pytest.raises(InvalidSource, match="is a broker's listener; give a controller's"):
        QuorumLog(kafka_quorum.bootstrap).bounds()


def test_a_fetched_snapshot_has_the_bytes_of_its_file(kafka_quorum: KafkaQuorum) -> None:
    lead_with_whole_log(kafka_quorum)
    create(kafka_quorum.brokers[1], *(creation(f"snapshot-{each}") for each in range(100)))
    source = open_source(f"quorum://{kafka_quorum.controller_bootstrap}", environ={})
    log = source.log
    assert isinstance(log, QuorumLog)
    with contextlib.closing(log):
        until(lambda: bool(log.refresh() or log.snapshots()), "a snapshot is made")
        fetched, known, file = under_one_leader(kafka_quorum, lambda: fetch_snapshot(log))
        assert fetched == (kafka_quorum.metadata_dir(file) / f"{known}.checkpoint").read_bytes()
        from_snapshot = replay_source(source)
        events = under_one_leader(kafka_quorum, lambda: whole_log(log))
    assert from_snapshot.snapshot is not None
    assert from_snapshot.cluster_id == CLUSTER_ID
    assert Gap(0, 1, lost=False) in events
    from_log = Loader()
    for event in events:
        from_log.handle(event)
    from_log.handle(HighWatermark(from_log.position))
    assert from_log.image.acls == from_snapshot.image.acls


def fetch_snapshot(log: QuorumLog) -> tuple[bytes, SnapshotId, int]:
    log.refresh()
    [known] = log.snapshots()
    return b"".join(map(encode_batch, log.open_snapshot(known))), known, log.leader.id


def whole_log(log: QuorumLog) -> list[Appended | Gap]:
    """Without high-water marks, which advance: a controller writes twice a second."""
    log.refresh()
    return list(read_range(log, 0, log.bounds().end))


def under_one_leader(quorum: KafkaQuorum, observe: Callable[[], R]) -> R:
    """The result of ``observe`` while one node with the whole log leads: an election may interfere
    on a busy machine."""
    while True:
        lead_with_whole_log(quorum)
        with observed(quorum) as log:
            before = log.leader
        result = observe()
        with observed(quorum) as log:
            if log.leader == before:
                return result

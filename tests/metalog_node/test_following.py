"""Our observer and our broker follow our controller over the wire."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from metalog.acl import Acl
from metalog.disk.files import LOCAL_FILES
from metalog.errors import InvalidSource
from metalog.hosts.host_port import Address
from metalog.ids import SnapshotId
from metalog.log.folder.layout import snapshot_name
from metalog.log.quorum.observer import QuorumLog
from metalog.ports import Appended, HighWatermark, LogEvent
from metalog.records.batch import encode_batch
from metalog.wire.client.connection import Connection, Unreachable
from metalog.wire.client.security import PLAINTEXT, client_settings
from metalog.wire.fetch import FetchPosition, fetch_request, read_fetched
from metalog.wire.schema import request_parts
from metalog_node.node import Node
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from snapshot.archive import archive_log
from tests.support.disk.written_log import batches_in, formatted
from tests.support.kafka.tools import free_ports
from tests.support.node.certificates import certified
from tests.support.node.running import BOTH_ROLES, running, running_in, starting
from tests.support.node.served import killed_at_the_end
from tests.support.suite.waiting import eventually
from tests.support.wire.admin_requests import (
    NodeClient,
    acl_filter,
    create,
    creation,
    delete,
    describe,
)
from tests.support.worlds.small_acls import allow

DESCRIBE_QUORUM = 55
LONGEST_DELAY_S = 10.0
"""The delay of news; much less than the patience, which must not be the cause."""
LONGEST_START_S = 60
"""The start of a process on a busy machine."""
PATIENCE_S = 60.0
"""How long an observer waits for an answer."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return formatted(tmp_path / "log")


@pytest.fixture
def controller(folder: Path) -> Iterator[Node]:
    with running_in(folder) as node:
        yield node


def named(name: str) -> Acl:
    return allow(name, principal="User:app")


def add(node: Node, *names: str) -> None:
    for done in node.replica.create_acls(None, [named(name) for name in names]):
        done.result(60)


def followed(node: Node) -> QuorumLog:
    return QuorumLog(str(node.addresses["CONTROLLER"]))


def test_an_observer_reads_the_bytes_that_lie_on_disk(controller: Node, folder: Path) -> None:
    for each in range(20):
        add(controller, f"topic-{each}")
    log = followed(controller)
    read = [event.batch for event in log.read(0) if isinstance(event, Appended)]
    lying = batches_in(folder)
    assert list(map(encode_batch, read)) == list(map(encode_batch, lying))[: len(read)]
    assert read[-1].next_offset == log.bounds().end >= 20
    log.close()


def test_news_comes_at_once(controller: Node) -> None:
    log = followed(controller)
    seen = sum(isinstance(event, Appended) for event in log.read(0))
    assert seen
    with ThreadPoolExecutor(1) as other:
        polling = other.submit(until_appended, log)
        assert not polling.done()
        add(controller, "news")
        assert any(isinstance(each, HighWatermark) for each in polling.result(LONGEST_DELAY_S))
    log.close()


def until_appended(log: QuorumLog) -> list[LogEvent]:
    events: list[LogEvent] = []
    while not any(isinstance(each, Appended) for each in events):
        events += log.poll(PATIENCE_S)
    return events


def test_the_source_quorum_reads_a_node_of_ours(controller: Node) -> None:
    add(controller, "seen")
    source = open_source(f"quorum://{controller.addresses['CONTROLLER']}", environ={})
    image = replay_source(source, committed=False).image
    assert image.acls.by_id == controller.replica.image.acls.by_id


def ends(node: Node) -> tuple[int, int]:
    log = followed(node)
    bounds = log.bounds()
    log.close()
    return bounds.end, bounds.epoch


def ask(node: Node, place: FetchPosition, wait_s: float = 0.0) -> object:
    with Connection(node.addresses["CONTROLLER"], PLAINTEXT) as connection:
        request = fetch_request(18, place, cluster_id=None, wait_s=wait_s)
        return read_fetched(connection.ask(request))


def test_what_an_observer_is_told_of_an_odd_place(controller: Node) -> None:
    """As a Kafka controller answers: see docs/formats/wire.md."""
    add(controller, "one")
    end, epoch = ends(controller)
    asked = {
        "epoch too low": FetchPosition(end, epoch - 1, epoch - 1, end),
        "epoch below that of the last record": FetchPosition(end, epoch, epoch - 1, end),
        "no epoch": FetchPosition(0, 0, -1, end),
        "epoch too high": FetchPosition(end, epoch, epoch + 1, end),
        "past the end": FetchPosition(end + 5, epoch, epoch, end),
        "another history": FetchPosition(end, epoch - 1, epoch, end),
        "negative": FetchPosition(-1, 0, epoch, -1),
        "at the end": FetchPosition(end, epoch, epoch, end),
    }
    told = {what: ask(controller, place) for what, place in asked.items()}
    assert {what: each.code for what, each in told.items()} == {
        "epoch too low": 74,
        "epoch below that of the last record": 42,
        "no epoch": 42,
        "epoch too high": 75,
        "past the end": 0,
        "another history": 0,
        "negative": 42,
        "at the end": 0,
    }
    assert told["past the end"].diverging == (epoch, end)
    assert told["another history"].diverging is not None
    assert told["another history"].diverging[1] < end
    assert {each.leader.epoch for each in told.values()} == {epoch}
    assert {each.log_start for each in told.values()} == {0}
    here = {1: controller.addresses["CONTROLLER"]}
    assert [each.endpoints for each in told.values()] == [here] * len(told)
    assert (told["at the end"].records, told["at the end"].high_watermark) == (b"", end)
    with Connection(controller.addresses["CONTROLLER"], PLAINTEXT) as connection:
        place = FetchPosition(end, epoch, epoch, end)
        request = fetch_request(18, place, cluster_id="another", wait_s=0)
        assert read_fetched(connection.ask(request)).code == 104


def test_observers_that_wait_hold_up_nobody(controller: Node) -> None:
    """There are more of them than threads of the node; all get the change at once."""
    end, epoch = ends(controller)
    request = fetch_request(
        18, FetchPosition(end, epoch, epoch, end), cluster_id=None, wait_s=PATIENCE_S
    )
    address = controller.addresses["CONTROLLER"]
    observers = [Connection(address, PLAINTEXT) for _ in range(40)]
    with ThreadPoolExecutor(40) as threads:
        answers = [threads.submit(each.ask, request, 20.0) for each in observers]
        add(controller, "news")
        told = [read_fetched(each.result(LONGEST_DELAY_S)) for each in answers]
    assert {(each.code, each.high_watermark, bool(each.records)) for each in told} == {
        (0, end + 1, True)
    }
    for each in observers:
        each.close()


def test_a_snapshot_is_given_as_it_lies(folder: Path) -> None:
    often = {"metadata.log.max.record.bytes.between.snapshots": "500"}
    with running_in(folder, **often) as node:
        log = followed(node)
        add(node, *(f"topic-{each}" for each in range(30)))
        while not (known := log.snapshots()):
            log.refresh()
        lying = folder / "__cluster_metadata-0" / snapshot_name(known[0])
        assert b"".join(map(encode_batch, log.open_snapshot(known[0]))) == lying.read_bytes()
        another = SnapshotId(known[0].end_offset + 1, known[0].epoch)
        with pytest.raises(InvalidSource, match="SNAPSHOT_NOT_FOUND"):
            list(log.open_snapshot(another))
        log.close()


def test_an_archive_of_what_is_followed_begins_at_a_snapshot(folder: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    often = {"metadata.log.max.record.bytes.between.snapshots": "500"}
    with running_in(folder, **often) as node:
        log = followed(node)
        add(node, *(f"topic-{each}" for each in range(30)))
        while not log.snapshots():
            log.refresh()
        runs = []
        for name in ("before", "between", "after"):
            add(node, name)
            log.refresh()
            archived = archive_log(
                log, log.proven.offset, archive, cluster_id=None, files=LOCAL_FILES
            )
            runs.append(archived)
            kept = replay_source(open_source(str(archive), environ={})).image
            assert name in {acl.resource_name for acl in kept.acls.by_id.values()}
        log.close()
        first, *_, last = runs
        assert 0 < first.start == last.start < first.end < last.end
        assert kept.acls == node.replica.image.acls


@pytest.mark.parametrize("version", range(3))
def test_the_quorum_is_this_node_alone(controller: Node, version: int) -> None:
    parts = request_parts(DESCRIBE_QUORUM, version)
    asked = parts.DescribeQuorumRequest(
        topics=(
            parts.TopicData(
                topic_name="__cluster_metadata",
                partitions=(parts.PartitionData(partition_index=0),),
            ),
        )
    )
    for listener in ("PLAINTEXT", "CONTROLLER"):
        with Connection(controller.addresses[listener], PLAINTEXT) as connection:
            [topic] = connection.ask(asked).topics
            [partition] = topic.partitions
            assert (partition.error_code, partition.leader_id) == (0, 1)
            assert [each.replica_id for each in partition.current_voters] == [1]
            assert partition.high_watermark == partition.current_voters[0].log_end_offset > 0


def broker_of(address: str) -> dict[str, str]:
    return {
        **BOTH_ROLES,
        "process.roles": "broker",
        "node.id": "2",
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "controller.quorum.bootstrap.servers": address,
        "request.timeout.ms": "10000",
    }


def test_a_broker_forwards_and_answers_from_what_it_follows(controller: Node) -> None:
    with running(broker_of(str(controller.addresses["CONTROLLER"]))) as broker:
        asker = NodeClient(broker.addresses["PLAINTEXT"])
        assert "none: 0" in repr(asker.ask(create(creation())))
        assert eventually(lambda: "beside" in repr(asker.ask(describe())))
        assert "beside" in repr(asker.ask(delete(acl_filter())))
        assert eventually(lambda: "'beside'" not in repr(asker.ask(describe())))
        asker.close()


def test_a_broker_may_be_there_before_its_controller(folder: Path) -> None:
    """It opens once it has followed the log to its end."""
    ports = free_ports(2)
    broker = {
        **broker_of(f"127.0.0.1:{ports[0]}"),
        "listeners": f"PLAINTEXT://127.0.0.1:{ports[1]}",
    }
    listeners = f"PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{ports[0]}"
    with starting(broker):
        with pytest.raises(Unreachable):
            Connection(Address("127.0.0.1", ports[1]), PLAINTEXT)
        with running_in(folder, listeners=listeners):
            assert eventually(lambda: "bootstrapped" in told_by_broker(ports[1]))


def test_a_broker_forwards_nothing_to_another_cluster_at_its_controllers_address(
    folder: Path, tmp_path: Path
) -> None:
    """A change would be acknowledged there, and made in no log of this cluster."""
    other = formatted(tmp_path / "other")
    properties = other / "meta.properties"
    properties.write_text(properties.read_text().replace("cluster.id=c\n", "cluster.id=other\n"))
    [port] = free_ports(1)
    listeners = {"listeners": f"PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{port}"}
    with ExitStack() as stack:
        with running_in(folder, **listeners):
            impatient = {"request.timeout.ms": "2000"}
            broker = stack.enter_context(running(broker_of(f"127.0.0.1:{port}") | impatient))
            asker = NodeClient(broker.addresses["PLAINTEXT"])
            assert "none: 0" in repr(asker.ask(create(creation(resource_name="here"))))
        with running_in(other, **listeners):
            answer = repr(asker.ask(create(creation(resource_name="there"))))
            assert "request_timed_out" in answer
            assert "is of another cluster" in answer
        with running_in(folder, **listeners):
            assert "none: 0" in repr(asker.ask(create(creation(resource_name="again"))))
        asker.close()


def test_a_broker_connects_to_its_controller_with_reloaded_certificates(
    folder: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """It follows and forwards with them; a file that cannot be used changes nothing."""
    ours, others = (tmp_path_factory.mktemp(name) for name in ("ours", "others"))
    server = certified(ours, "/CN=controller")
    kept = tmp_path / "broker.pem"
    kept.write_bytes(certified(others, "/CN=broker").identity.read_bytes())
    tls = {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SSL",
        "ssl.keystore.type": "PEM",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(server.authority),
        "ssl.client.auth": "required",
        "super.users": "User:CN=broker;User:ANONYMOUS",
    }
    with running_in(folder, **tls, **{"ssl.keystore.location": str(server.identity)}) as controller:
        address = str(controller.addresses["CONTROLLER"])
        with starting({**broker_of(address), **tls, "ssl.keystore.location": str(kept)}) as broker:
            assert eventually(lambda: broker.replica.loaded.fault is not None)
            kept.write_bytes(certified(ours, "/CN=broker").identity.read_bytes())
            broker.reload_certificates()
            assert eventually(lambda: broker.addresses["PLAINTEXT"].port)
            kept.write_text("nonsense")
            broker.reload_certificates()
            asker = NodeClient(broker.addresses["PLAINTEXT"])
            assert "none: 0" in repr(asker.ask(create(creation())))
            asker.close()


def told_by_broker(port: int) -> str:
    try:
        with Connection(Address("127.0.0.1", port), PLAINTEXT) as connection:
            return repr(connection.ask(describe(principal_filter=None)))
    except Unreachable:
        return ""


@pytest.mark.once
def test_a_broker_outlives_its_controller(folder: Path, tmp_path: Path) -> None:
    """A killed controller that starts again is followed with all acknowledged changes; a change
    requested meanwhile waits for it."""
    ports = free_ports(2)
    config = tmp_path / "controller.properties"
    listeners = f"PLAINTEXT://127.0.0.1:{ports[0]},CONTROLLER://127.0.0.1:{ports[1]}"
    settings = {**BOTH_ROLES, "listeners": listeners, "metadata.log.dir": str(folder)}
    config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    with ExitStack() as stack:
        with killed_at_the_end("--config", str(config), listeners=2):
            patient = {"request.timeout.ms": str(LONGEST_START_S * 1000)}
            config_of_broker = broker_of(f"127.0.0.1:{ports[1]}") | patient
            broker = stack.enter_context(running(config_of_broker))
            asker = NodeClient(broker.addresses["PLAINTEXT"], client_settings(patient))
            assert "none: 0" in repr(asker.ask(create(creation(resource_name="before"))))
        with ThreadPoolExecutor(1) as other:
            waiting = other.submit(asker.ask, create(creation(resource_name="meanwhile")))
            with killed_at_the_end("--config", str(config), listeners=2):
                assert "none: 0" in repr(waiting.result(LONGEST_START_S))
                assert eventually(
                    lambda: all(
                        name in repr(asker.ask(describe())) for name in ("before", "meanwhile")
                    )
                )
        asker.close()

"""A real Kafka broker with a node of ours as its controller, as far as it gets. Its Raft client
follows the node's log byte for byte, from a snapshot if there is one, and its authorizer loads it.
It stops at its registration, which no node offers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metalog.hosts.host_port import Address
from metalog.log.folder.directory import DirectoryLog
from metalog.log.folder.layout import snapshot_name
from metalog.records.batch import encode_batch
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from shell.main import main
from tests.support.disk.written_log import batches_in
from tests.support.kafka.tools import KafkaTools, RealKafka, free_ports
from tests.support.node.running import running_in
from tests.support.suite.waiting import eventually
from tests.support.wire.admin_requests import NodeClient, create, creation

pytestmark = pytest.mark.xdist_group("kafka-quorum")

PARTITION = "__cluster_metadata-0"
LOADED = re.compile(r"\[StandardAuthorizer 2\] Initialized with (\d+) acl\(s\)")
UNABLE = "The node does not support BROKER_REGISTRATION"


@contextmanager
def broker_behind(
    controller: Address, cluster_id: str, tools: KafkaTools, folder: Path
) -> Iterator[RealKafka]:
    """Node 2, which starts and cannot finish. It learns the voters from the log."""
    [port] = free_ports(1)
    kafka = RealKafka(
        tools,
        folder,
        {
            "process.roles": "broker",
            "node.id": "2",
            "listeners": f"CLIENT://127.0.0.1:{port}",
            "controller.quorum.bootstrap.servers": str(controller),
        },
        dynamic=True,
    )
    kafka.log_dir.mkdir()
    (kafka.log_dir / "meta.properties").write_text(
        f"version=1\nnode.id=2\ncluster.id={cluster_id}\n"
    )
    logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=info"
    with kafka.output.open("wb") as output:
        process = subprocess.Popen(
            tools.command("kafka.Kafka", kafka.config, logging=logging),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        yield kafka
    finally:
        process.kill()
        process.wait()


def wait_for(what: Callable[[], bool], kafka: RealKafka) -> None:
    assert eventually(what), kafka.output.read_text()[-8000:]


def acls_in(folder: Path) -> set[str]:
    image = replay_source(open_source(str(folder), environ={}), committed=False).image
    return {acl.resource_name for acl in image.acls.by_id.values()}


def test_it_follows_publishes_and_cannot_register(either_kafka: KafkaTools, tmp_path: Path) -> None:
    """A broker of 4.4 behind a node of that version, whose log begins with a snapshot."""
    folder = tmp_path / "log"
    config = tmp_path / "node.properties"
    [port] = free_ports(1)
    listeners = f"PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{port}"
    config.write_text(
        f"process.roles=broker,controller\nnode.id=1\nlog.dirs={folder}\nlisteners={listeners}\n"
        f"controller.listener.names=CONTROLLER\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:{port}\n"
    )
    formatting = ["format", str(folder), "--config", str(config), "--standalone"]
    assert main([*formatting, "--release-version", either_kafka.release]) == 0
    meta = DirectoryLog(folder).meta_properties
    assert meta is not None
    assert meta.cluster_id is not None
    often = {
        "metadata.log.max.record.bytes.between.snapshots": "2000",
        "metadata.max.idle.interval.ms": "500",
    }
    with running_in(folder, listeners=listeners, **often) as node:
        asker = NodeClient(node.addresses["PLAINTEXT"])
        before = [creation(resource_name=f"before-{each}") for each in range(30)]
        for each in before:
            asker.ask(create(each))
        controller = node.addresses["CONTROLLER"]
        with broker_behind(controller, meta.cluster_id, either_kafka, tmp_path) as kafka:
            wait_for(lambda: LOADED.search(kafka.output.read_text()) is not None, kafka)
            wait_for(lambda: UNABLE in kafka.output.read_text(), kafka)
            asker.ask(create(creation(resource_name="live")))
            wait_for(lambda: "live" in acls_in(kafka.log_dir), kafka)
        asker.close()
        loaded = LOADED.search(kafka.output.read_text())
        assert loaded is not None
        assert int(loaded[1]) == len(before)
    ours = {batch.base_offset: batch for batch in batches_in(folder)}
    theirs = DirectoryLog(kafka.log_dir)
    [snapshot] = theirs.snapshots()
    name = Path(PARTITION) / snapshot_name(snapshot)
    assert (kafka.log_dir / name).read_bytes() == (folder / name).read_bytes()
    for batch in theirs.batches(snapshot.end_offset):
        assert encode_batch(batch) == encode_batch(ours[batch.base_offset])

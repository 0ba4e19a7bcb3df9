"""Nodes on one topic of a real Kafka: one is active, and another takes over. METALOG_CRASH_RUNS
sets the number of crashes (2)."""

from __future__ import annotations

import os
import re
import signal
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from metalog import Loader, Replica, TopicLog, WritableTopicLog
from metalog.controller.result import ControllerResult
from metalog.errors import LogFenced
from metalog.hosts.host_port import parse_addresses
from metalog.ids import Uuid, uuid_text
from metalog.image.metadata import MetadataImage
from metalog.loader import feed
from metalog.log.topic import cluster
from metalog.log.topic.election import TopicCandidacy
from metalog.log.topic.writer import ensure_topic
from metalog.wire.client.connection import Connection, Unreachable
from metalog.wire.client.security import PLAINTEXT
from metalog.wire.schema import request_parts
from shell.main import main
from tests.support.disk.tiny_log import ace, ids
from tests.support.kafka.cases import REPOSITORY
from tests.support.kafka.tools import RealKafka, free_ports
from tests.support.kafka.topic_logs import new_address
from tests.support.node.certificates import certified
from tests.support.node.relay import relayed
from tests.support.node.running import BOTH_ROLES, starting
from tests.support.node.scraping import got
from tests.support.node.served import served
from tests.support.node.topic_nodes import SETTINGS, Load, TopicNodeProcess, leader_of, topic_nodes
from tests.support.suite.waiting import eventually
from tests.support.wire.admin_requests import create, creation, describe
from tests.support.wire.every_request import DESCRIBE_CLUSTER, METADATA, requests

pytestmark = pytest.mark.xdist_group("real-kafka")

RUNS = int(os.environ.get("METALOG_CRASH_RUNS", "2"))
PASSWORD = "admins-own"
LIMIT_S = 120
"""The longest wait of a test."""


def image_of(topic: str) -> MetadataImage:
    loader, log = Loader(), TopicLog(topic)
    feed(loader, log, log.read(0))
    return loader.image


def acls_at(node: TopicNodeProcess) -> list[tuple[str, ...]]:
    with Connection(node.address, SETTINGS) as connection:
        answer = connection.ask(describe())
    return sorted(
        (resource.resource_name, acl.principal)
        for resource in answer.resources
        for acl in resource.acls
    )


def wait_until_equal(nodes: list[TopicNodeProcess], wanted: list[tuple[str, ...]]) -> None:
    are_equal = eventually(lambda: all(acls_at(node) == wanted for node in nodes))
    assert are_equal, [len(acls_at(node)) for node in nodes]


def check(topic: str, load: Load, nodes: list[TopicNodeProcess]) -> int:
    """The number of acknowledged ACLs; each is there once, and every node shows it."""
    found = Counter(acl.resource_name for acl in image_of(topic).acls.by_id.values())
    names = {name for _, _, name in load.acknowledged}
    assert names <= found.keys(), "acknowledged and lost"
    assert found.keys() <= load.asked
    assert set(found.values()) == {1}, "doubled"
    wait_until_equal(nodes, sorted((name, "User:beside") for name in found))
    return len(names)


def test_what_was_acknowledged_survives_every_kill_of_the_active_node(
    real_kafka: RealKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = new_address(real_kafka.bootstrap)
    takeovers = []
    with topic_nodes(topic, tmp_path, controllers=3) as nodes:
        with Load(nodes) as load:
            load.waits_for(10, 0.0, LIMIT_S)
            for _ in range(RUNS):
                active = nodes[leader_of(topic) - 1]
                active.kill()
                killed_at = time.monotonic()
                takeovers.append(load.waits_for(10, killed_at, LIMIT_S) - killed_at)
                active.start()
                active.wait_until_open()
                load.waits_for(10, time.monotonic(), LIMIT_S)
        number = check(topic, load, nodes)
    with capsys.disabled():
        worst, middle = max(takeovers), sorted(takeovers)[len(takeovers) // 2]
        print(
            f"\n{RUNS} kills of the active node, {number:,} acknowledged: taken over within"
            f" {worst:.1f} s (median {middle:.1f} s)"
        )


def test_an_active_node_that_slept_follows_and_a_broker_forwards_to_whoever_is_active(
    real_kafka: RealKafka, tmp_path: Path
) -> None:
    topic = new_address(real_kafka.bootstrap)
    with topic_nodes(topic, tmp_path, controllers=2, brokers=1) as nodes:
        with Load(nodes[2:]) as load:
            load.waits_for(10, 0.0, LIMIT_S)
            first = leader_of(topic)
            nodes[first - 1].send(signal.SIGSTOP)
            asleep_at = time.monotonic()
            load.waits_for(10, asleep_at, LIMIT_S)
            second = leader_of(topic)
            nodes[first - 1].send(signal.SIGCONT)
            load.waits_for(10, time.monotonic(), LIMIT_S)
            for node in nodes[:2]:
                with Connection(node.controller, SETTINGS) as connection:
                    answer = connection.ask(create(creation(resource_name=str(node.node_id))))
                    assert int(answer.results[0].error_code) == 0, "a client of the controllers'"
                load.asked.add(str(node.node_id))
            time.sleep(2)
            assert leader_of(topic) == second != first, "the one that woke took the log back"
            nodes[second - 1].stop()
            load.waits_for(10, time.monotonic(), LIMIT_S)
            assert leader_of(topic) == first
        check(topic, load, [nodes[first - 1], nodes[2]])


def test_a_node_that_begins_before_its_kafka_stays_shut_says_why_and_opens_with_it(
    real_kafka: RealKafka, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "TIMEOUT_S", 1.0)
    kafka, client, controller = free_ports(3)
    topic = new_address(f"127.0.0.1:{kafka}")
    with starting(
        {
            **BOTH_ROLES,
            "listeners": f"CLIENT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}",
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "metrics.listener": "http://127.0.0.1:0",
            "metadata.log.dir": topic,
        }
    ) as node:
        why = f"{topic}: cannot be read: "
        told = f"replay cannot begin and will be retried: {why}"
        assert eventually(lambda: told in caplog.text)
        status, said = got(node.watch_address, "/readyz")
        assert status == 503
        assert said.startswith("not ready: the load has failed since ")
        assert why in said
        with pytest.raises(Unreachable, match="connection refused"):
            Connection(node.addresses["CLIENT"], PLAINTEXT)
        with Connection(node.addresses["CONTROLLER"], PLAINTEXT) as early:
            assert early.ask(requests()[DESCRIBE_CLUSTER]).cluster_id == ""
            with relayed(kafka, real_kafka.port):
                is_ready = eventually(lambda: got(node.watch_address, "/readyz")[0] == 200)
                assert is_ready, caplog.text
                known = early.ask(requests()[DESCRIBE_CLUSTER]).cluster_id
        Connection(node.addresses["CLIENT"], PLAINTEXT).close()
        [real] = parse_addresses(real_kafka.bootstrap)
        with Connection(real, PLAINTEXT) as connection:
            assert known == uuid_text(topic_id(connection, topic.rpartition("/")[2]))


def topic_id(connection: Connection, topic: str) -> Uuid:
    asked = request_parts(METADATA, 13)
    name = asked.MetadataRequestTopic(name=topic, topic_id=None)
    [told] = connection.ask(
        asked.MetadataRequest(
            topics=(name,),
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        )
    ).topics
    return Uuid(told.topic_id.bytes)


def test_who_is_fenced_resigns_and_follows_until_elected_again(real_kafka: RealKafka) -> None:
    topic = new_address(real_kafka.bootstrap)
    log = TopicLog(topic)
    ensure_topic(log.cluster)
    with Replica(log, candidacy=TopicCandidacy(log, 1, list)) as replica:
        create_at(replica, 1)
        with closing(WritableTopicLog(topic, node_id=9)) as other:
            epoch = other.claim()
            other.append(epoch, [(ace(3), 0)])
            with pytest.raises(LogFenced):
                create_at(replica, 2)
        create_at(replica, 4)
        assert ids(replica.image) == {1, 3, 4}
        assert replica.image.provenance.epoch == epoch + 1


def create_at(replica: Replica, number: int) -> None:
    change = ControllerResult([(ace(number), 0)], None)
    assert eventually(lambda: replica.is_active)
    replica.submit(lambda image: change).result(60)


def test_the_first_password_is_set_as_the_guide_has_it(
    real_kafka: RealKafka,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With other addresses, and a topic that needs no login."""
    page = (REPOSITORY / "docs" / "guide" / "operating.md").read_text("utf-8")
    blocks = re.findall(r"^```properties\n(.*?)^```", page, re.M | re.S)
    [node] = [each for each in blocks if "metadata.log.dir=topic://" in each]
    [with_certificate] = [each for each in blocks if "security.protocol=SSL\n" in each]
    [command] = re.findall(r"^\$ metalog (passwd cluster://.* admin .*)", page, re.M)
    monkeypatch.chdir(tmp_path)
    made = certified(tmp_path, "/CN=node-1")
    made.identity.rename("node-1.pem")
    made.authority.rename("ca.pem")
    ports = dict(zip(("9093", "9094", "9095"), map(str, free_ports(3)), strict=True))

    def here(text: str) -> str:
        return re.sub(r"//(?:node-1)?:(909[345])", lambda of: f"//127.0.0.1:{ports[of[1]]}", text)

    node = re.sub(r"metadata\.log\.topic\..*\n|topic://.*", "", here(node))
    node = node.replace("log.dir=", f"log.dir={new_address(real_kafka.bootstrap)}")
    Path("server.properties").write_text(node)
    Path("node.properties").write_text(with_certificate)
    Path("client.properties").write_text(blocks[1].replace("…", PASSWORD))
    Path("password.txt").write_text(PASSWORD)
    with served("--config", "server.properties", listeners=3):
        assert main([*here(command).split(), "--password-file", "password.txt"]) == 0
        capsys.readouterr()
        target = f"cluster://127.0.0.1:{ports['9094']}"
        assert main(["users", target, "--command-config", "client.properties"]) == 0
    assert capsys.readouterr().out.startswith("admin ")

"""Kafka 4.4 on a folder that we formatted and filled lists, refuses and reports as we do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv6Address
from typing import Any

import pytest

from authorizer import RequestContext, StandardAuthorizer
from authorizer.api import Action, ResourcePattern
from metalog import DirectoryLog, Replica, WritableDirectoryLog
from metalog.acl import Acl, Operation, ResourceType
from metalog.hosts.host_port import Address, parse_addresses
from metalog.log.config import LogConfig
from metalog.log.opening import open_log
from metalog.wire.client.connection import Connection
from metalog.wire.client.security import PLAINTEXT
from metalog.wire.declared.newest import API_VERSIONS, UNREGISTER_CONTROLLER
from metalog.wire.schema import request_type
from metalog_node.node import Node
from metalog_sources.live.cluster import ClusterStore
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from metalog_sources.targets.answers import PartlyDone
from metalog_sources.targets.plan import ChangeKind, PlanStep
from metalog_sources.targets.target import refused_steps
from shell.main import main
from snapshot.upkeep import Upkeep
from tests.support.kafka.authorizer import KafkaQuestion, KafkaWorld, kafkas_answers
from tests.support.kafka.case_maker import bindings_listed
from tests.support.kafka.tools import CLUSTER_ID, KafkaTools, RealKafka
from tests.support.node.running import running_in
from tests.support.node.two_clusters import ACL_COMMAND
from tests.support.suite.waiting import eventually
from tests.support.worlds.small_acls import allow

BLOCKS = ("10.0.0.0/8", "10.1.2.3/08", "2001:DB8::1/32", "[::1]/128", "0.0.0.0/0")
TAKEN = (*BLOCKS, "*", "10.0.0.1", " ", "10.0.0.*")
REFUSED = ("", "/", "10.0.0.0/33", "256.0.0.0/8", "10/8", "2001:db8::/129", "::ffff:0:0/96", "a:/8")
SCRAM = "SCRAM-SHA-512=[name=app,password=app-secret]"
SMALL = LogConfig(
    segment_bytes=12_000, bytes_between_snapshots=4_000, retention_bytes=60_000, retention_ms=-1
)


def from_host(host: str, name: str = "t") -> Acl:
    return allow(name, principal="User:a", host=host)


def acls_in(source: str) -> set[Acl]:
    image = replay_source(open_source(source, environ={})).image
    assert image.features.metadata_version_name == "4.4-IV2"
    return set(image.acls.by_id.values())


@pytest.fixture(scope="module")
def newest(
    newest_kafka_tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealKafka]:
    """A running Kafka, on a folder of ``metalog format`` and a replica of ours."""
    folder = tmp_path_factory.mktemp("newest")
    kafka = RealKafka(newest_kafka_tools, folder, {}, dynamic=True)
    formatting = ("format", "--config", str(kafka.config), "-s", "-r", "4.4", "-t", CLUSTER_ID)
    allowed = "ALLOW User:app READ topic:payments --host 10.0.0.0/8"
    assert main([*formatting, "--add-acl", allowed, "--add-scram", SCRAM]) == 0
    log = WritableDirectoryLog(kafka.log_dir, limits=SMALL.segment_limits)
    with Replica(log, publishers=[Upkeep(log, SMALL)]) as replica:
        acls = [from_host(host, f"{n}-{'x' * 90}") for n in range(5) for host in TAKEN]
        assert not any(replica.submit_creations(acls).result(20))
        refused = replica.submit_creations(list(map(from_host, REFUSED))).result(20)
        assert all(refused)
    assert len(DirectoryLog(kafka.log_dir).snapshots()) > 1
    with kafka:
        yield kafka


def store_of(kafka: RealKafka) -> ClusterStore:
    return ClusterStore("cluster://", parse_addresses(kafka.bootstrap), PLAINTEXT)


@pytest.mark.xdist_group("real-kafka")
def test_it_lists_what_we_list(newest: RealKafka, kafka_tools: KafkaTools) -> None:
    """By kafka-acls, by our own client, and by our observer of its quorum."""
    store = store_of(newest)
    ours = acls_in(str(newest.log_dir))
    assert {entry.acl for entry in store.state().document.entries} == ours
    assert [user.user for user in store.state().document.users] == ["app"]
    said = kafka_tools.run(ACL_COMMAND, "--bootstrap-server", newest.bootstrap, "--list")
    assert len(set(bindings_listed(said))) == len(ours) > 40
    address = f"quorum://127.0.0.1:{newest.controller_port}"
    assert acls_in(address) == ours
    new = from_host("192.168.0.0/16", "new")
    with Replica(open_log(address)) as follower:
        store.create([new])
        assert eventually(lambda: new in set(follower.image.acls.by_id.values()))
    store.delete([new])


@pytest.mark.xdist_group("real-kafka")
def test_what_it_refuses_is_known_before_it_is_asked(newest: RealKafka) -> None:
    store = store_of(newest)
    for host in (*TAKEN, *REFUSED):
        steps = [PlanStep(ChangeKind.ADD, from_host(host, "asked"))]
        foreseen = refused_steps(store, steps)
        if host in TAKEN:
            store.create([steps[0].acl])
            assert not foreseen
        else:
            [(_, why)] = foreseen
            with pytest.raises(PartlyDone, match=re.escape(why)):
                store.create([steps[0].acl])


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    folder = tmp_path_factory.mktemp("ours") / "log"
    assert main(["format", str(folder), "-r", "4.4", "-t", CLUSTER_ID]) == 0
    with running_in(folder) as started:
        yield started


def asked(address: Address, body: Any) -> Any:
    with Connection(address, PLAINTEXT) as connection:
        return connection.ask(body)


@pytest.mark.xdist_group("real-kafka")
@pytest.mark.parametrize("listener", ["PLAINTEXT", "CONTROLLER"])
def test_a_node_tells_what_it_tells(newest: RealKafka, node: Node, listener: str) -> None:
    """Features, the cluster that a client means (ApiVersions 5), and controllers."""
    [broker] = parse_addresses(newest.bootstrap)
    is_broker = listener == "PLAINTEXT"
    theirs = broker if is_broker else Address("127.0.0.1", newest.controller_port)
    places = [theirs, node.addresses[listener]]
    is_noticed = 129 if is_broker else 0
    for cluster_id, node_id, code in (
        (None, -1, 0),
        (CLUSTER_ID, 1, 0),
        (CLUSTER_ID, -1, 42),
        (None, 1, 42),
        ("another", 1, is_noticed),
        (CLUSTER_ID, 2, is_noticed),
    ):
        body = request_type(API_VERSIONS, 5)(
            client_software_name="c",
            client_software_version="1",
            cluster_id=cluster_id,
            node_id=node_id,
        )
        answers = [asked(place, body) for place in places]
        assert [int(each.error_code) for each in answers] == [code, code]
        assert len({_features(each) for each in answers}) == 1
        assert [bool(each.api_keys) for each in answers] == [code == 0] * 2
    for version in (3, 4):
        body = request_type(API_VERSIONS, version)(
            client_software_name="c", client_software_version="1"
        )
        assert len({_features(asked(place, body)) for place in places}) == 1
    for controller_id in (1, 77):
        body = request_type(UNREGISTER_CONTROLLER, 0)(controller_id=controller_id)
        refusals = [asked(place, body) for place in places]
        assert refusals[0] == refusals[1]
        assert refusals[0].error_code == (42 if controller_id == 1 else 136)


def _features(answer: Any) -> tuple[Any, ...]:
    of_node = answer.supported_features, answer.finalized_features
    return tuple(tuple(sorted(each, key=lambda feature: feature.name)) for each in of_node)


CLIENTS = ("10.0.0.1", "0.0.0.0", "192.168.1.1", "2001:db8::5", "::1", "::", "::ffff:10.0.0.1")


def test_blocks_are_decided_as_by_its_own_authorizer(newest_kafka_tools: KafkaTools) -> None:
    topic = KafkaQuestion("User:a", "", Operation.READ, ResourceType.TOPIC, "t")
    hosts = [host for host in (*TAKEN, *REFUSED, "fe80::1%1/64", "00002001:db8::/+32") if host]
    worlds = [
        KafkaWorld([from_host(host)], [topic._replace(host=client) for client in CLIENTS])
        for host in hosts
    ]
    found = set()
    for world, answers in zip(worlds, kafkas_answers(newest_kafka_tools, worlds), strict=True):
        ours = StandardAuthorizer.from_acls(world.acls, kafka_version=newest_kafka_tools.release)
        for question, theirs in zip(world.questions, answers, strict=True):
            context = RequestContext(question.principal, java_text(question.host))
            action = Action(Operation.READ, ResourcePattern(ResourceType.TOPIC, "t"))
            assert ours.authorize(context, [action])[0].name == theirs, (world.acls, question)
            found.add(theirs)
    assert found == {"ALLOWED", "DENIED"}


def java_text(host: str) -> str:
    if ":" not in host:
        return host
    address = IPv6Address(host)
    mapped = address.ipv4_mapped
    if mapped is not None:
        return str(mapped)
    return ":".join(f"{int(group, 16):x}" for group in address.exploded.split(":"))

"""``zookeeper://`` against a real ZooKeeper that a real Kafka 3.9.1 fills and lists."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_acl, make_digest_acl

from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.errors import InvalidSource, InvalidTarget
from metalog.scram import ScramMechanism, credential_of, salted_password
from metalog_sources.formats.zookeeper import znodes
from metalog_sources.live.zookeeper import ZookeeperStore
from metalog_sources.live.zookeeper_session import ZooKeeperSession
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from shell.main import main
from tests.support.command.help_examples import examples, typed
from tests.support.kafka.case_maker import bindings_listed
from tests.support.kafka.tools import KafkaTools, RealKafka
from tests.support.kafka.zookeeper import RealZookeeper, missing_for_zookeeper

pytestmark = pytest.mark.xdist_group("real-zookeeper")

CHROOT = "/kafka/prod"
PASSWORD = "not-a-secret"
USER = "alice smith+x*"
LITERAL = (
    "--add", "--allow-principal", "User:alice", "--allow-principal", "User:b c",
    "--deny-principal", "User:eve", "--deny-host", "10.0.0.9", "--operation", "All",
    "--topic", "orders", "--topic", "*", "--group", "g:1 é", "--cluster",
    "--transactional-id", "t", "--delegation-token", "tok",
)  # fmt: skip
PREFIXED = (
    "--add", "--allow-principal", "User:alice", "--producer", "--topic", "pay-",
    "--resource-pattern-type", "prefixed",
)  # fmt: skip
SCRAM = (
    "--alter", "--entity-type", "users", "--entity-name", USER, "--add-config",
    f"SCRAM-SHA-256=[iterations=8192,password={PASSWORD}],SCRAM-SHA-512=[password={PASSWORD}]",
)  # fmt: skip
WANTED = """\
owns: [{resourceType: Topic, resourceName: orders}, {resourceType: Cluster}]
acls:
  - {principal: User:carol, operation: [Read, DescribeConfigs], resourceType: Topic,
     resourceName: orders}
  - {principal: User:eve, operation: All, resourceType: Topic, resourceName: orders,
     host: 10.0.0.9, permissionType: deny}
  - {principal: "User:CN=x,O=\\"y\\"", operation: Write, resourceType: Group, resourceName: g-日本,
     patternType: prefixed, host: "::1"}
  - {principal: User:a, operation: DescribeTokens, resourceType: User, resourceName: "User:b"}
"""
SUPER = ("--super-users", "User:root", "--yes")
MANY = 11_000


def acl(name: str, principal: str = "User:a", pattern: str = "LITERAL") -> Acl:
    return Acl(
        ResourceType.TOPIC,
        name,
        PatternType[pattern],
        principal,
        "*",
        Operation.READ,
        PermissionType.ALLOW,
    )


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealZookeeper]:
    if missing := missing_for_zookeeper():
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp("zookeeper")
    with RealZookeeper.started(folder, CHROOT) as zookeeper:
        zookeeper.acls(*LITERAL)
        zookeeper.acls(*PREFIXED)
        zookeeper.configs(*SCRAM)
        yield zookeeper


@pytest.fixture
def fresh(zookeeper: RealZookeeper, request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    chroot = f"/{request.node.name}"
    client: Any = KazooClient(zookeeper.server)
    client.start()
    client.ensure_path(chroot)
    client.chroot = chroot
    yield f"zookeeper://{zookeeper.server}{chroot}", client
    client.stop()
    client.close()


@pytest.fixture
def opened() -> Iterator[Callable[[str], ZookeeperStore]]:
    stores = []

    def opened(url: str) -> ZookeeperStore:
        stores.append(ZookeeperStore(url))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()


def test_kafka_lists_what_we_read_and_what_we_wrote(
    zookeeper: RealZookeeper, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"zookeeper://{zookeeper.address}"
    before = listed_by_us(url, capsys)
    assert len(before) == 3 * 6 + 3
    assert ("TOPIC", "pay-", "PREFIXED", "User:alice", "*", "CREATE", "ALLOW") in before
    (tmp_path / "wanted.yaml").write_text(WANTED)
    apply = ["apply", url, str(tmp_path / "wanted.yaml"), "--prune", *SUPER]
    assert main(apply) == 0
    assert "4 to add, 5 to remove" in capsys.readouterr().out
    assert main(apply) == 0
    assert capsys.readouterr().out == "Nothing to do.\n"
    ours = listed_by_us(url, capsys)
    assert len(ours) == len(before) + 4 - 5
    listing = re.sub(r" +$", "", zookeeper.acls("--list"), flags=re.M)
    assert ours == sorted(bindings_listed(listing))


def listed_by_us(url: str, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, ...]]:
    assert main(["acls", url, "--json"]) == 0
    out = capsys.readouterr().out
    return sorted(tuple(json.loads(line).values())[1:] for line in out.splitlines())


def test_users_as_kafka_made_them(
    zookeeper: RealZookeeper, opened: Callable[[str], ZookeeperStore]
) -> None:
    users = opened(f"zookeeper://{zookeeper.address}").state().document.users
    assert [(user.user, user.mechanism, user.credential.iterations) for user in users] == [
        (USER, ScramMechanism.SCRAM_SHA_512, 4096),
        (USER, ScramMechanism.SCRAM_SHA_256, 8192),
    ]
    for _, mechanism, credential in users:
        salted = salted_password(mechanism, PASSWORD, credential.salt, credential.iterations)
        assert credential == credential_of(
            mechanism, salted, credential.salt, credential.iterations
        )


def test_moved_into_a_new_kafka(
    zookeeper: RealZookeeper,
    kafka_tools: KafkaTools,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    opened: Callable[[str], ZookeeperStore],
) -> None:
    url = f"zookeeper://{zookeeper.address}"
    more = tmp_path / "more.json"
    rule = {"principal": "User:a", "operation": "READ", "resourceType": "TOPIC"}
    many = [f"many-{number}" for number in range(MANY)]
    more.write_text("\n".join(json.dumps({**rule, "resourceName": name}) for name in many))
    kafka = RealKafka(kafka_tools, tmp_path, {}, dynamic=True)
    assert main(["format", str(kafka.log_dir), "--config", str(kafka.config), "--standalone"]) == 0
    places = {"FOLDER": str(kafka.log_dir), "zookeeper://zk:2181/kafka": url}
    [printed] = [typed(text).words for _, text in examples("apply") if "zookeeper://" in text]
    apply = [places.pop(word, word) for word in printed]
    assert places == {}, "the example of --help names other places"
    assert main([*apply, "--yes"]) == 0
    assert main([*apply, str(more), *SUPER]) == 0
    capsys.readouterr()
    there = opened(url).state().document
    image = replay_source(open_source(str(kafka.log_dir), environ={})).image
    assert set(image.acls.by_id.values()) == {*there.acls, *map(acl, many)}
    for user, mechanism, credential in there.users:
        assert image.scram.credential(mechanism, user) == credential
    with kafka:
        cluster = open_source(f"cluster://{kafka.bootstrap}", environ={}).store
        assert cluster is not None
        state = cluster.state()
    assert set(state.document.acls) == {*there.acls, *map(acl, many)}
    assert {user[:2] for user in state.document.users} == {user[:2] for user in there.users}


def test_older_spellings_are_read_and_removed_wherever_they_stand(
    fresh: tuple[str, Any], opened: Callable[[str], ZookeeperStore]
) -> None:
    url, client = fresh
    one = (
        '{"version":1,"acls":[{"principal":"%s","permissionType":"Allow",'
        '"operations":["%s"],"hosts":["*"]}]}'
    )
    for path, principal, operation in (
        ("/kafka-acl/TOPIC/a", "User:a", "Read"),
        ("/kafka-extended-acl/prefixed/Topic/b", "User:a", "Read"),
        ("/kafka-acls/topic/c", "user:a", "READ"),
        ("/kafka-acls/d", "a", "READ"),
        ("/kafka-acl/Broker/1", "User:a", "Read"),
    ):
        client.create(path, (one % (principal, operation)).encode(), makepath=True)
    client.ensure_path("/kafka-acls/Group")
    store = opened(url)
    state = store.state()
    wanted = [acl("a"), acl("b", pattern="PREFIXED"), acl("c")]
    assert sorted(state.document.acls) == wanted
    for problem, left_out in zip(
        sorted(state.problems), ("/kafka-acl/Broker", "/kafka-acls/d"), strict=True
    ):
        assert problem.startswith(f"{url}: left out: {left_out}, ")
    store.create([acl("c", "User:more")])
    assert client.get("/kafka-acl/Topic/c")[0]
    opened(url).delete([*wanted, acl("c", "User:more")])
    assert store.state().document.acls == ()
    assert client.exists("/kafka-acl/Topic/c") is None


def test_a_change_comes_with_its_event_and_not_without(
    fresh: tuple[str, Any], opened: Callable[[str], ZookeeperStore]
) -> None:
    url, client = fresh
    store = opened(url)
    store.create([acl("a"), acl("b", pattern="PREFIXED")])
    store.create([acl("a")])
    store.delete([acl("nothing")])
    store.delete([acl("a")])
    assert client.exists("/kafka-acl/Topic/a") is None
    events = [
        client.get(f"{root}/{name}")[0]
        for root in znodes.EVENT_ROOTS
        for name in client.get_children(root)
    ]
    assert events[:2] == [b"TOPIC:a", b"TOPIC:a"]
    assert [json.loads(event)["name"] for event in events[2:]] == ["b"]


def test_writers_at_once_lose_nothing(
    fresh: tuple[str, Any], opened: Callable[[str], ZookeeperStore]
) -> None:
    url, _ = fresh
    stores = [opened(url) for _ in range(3)]

    def work(number: int) -> None:
        for turn in range(5):
            stores[number].create([acl("a", f"User:{number}-{turn}")])

    with ThreadPoolExecutor(len(stores)) as pool:
        list(pool.map(work, range(len(stores))))
    assert len(stores[0].state().document.acls) == 15


def test_what_changes_while_it_is_read_is_read_again(
    fresh: tuple[str, Any], opened: Callable[[str], ZookeeperStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, _ = fresh
    store, other = opened(url), opened(url)
    other.create([acl("old"), acl("gone")])
    original = ZooKeeperSession.nodes

    def change() -> None:
        other.create([acl("new"), acl("old", "User:b")])
        other.delete([acl("gone")])

    turns = iter([change])

    def nodes(self: ZooKeeperSession, paths: Any) -> Any:
        found = original(self, paths)
        if self is store._session:
            for turn in turns:
                turn()
        return found

    monkeypatch.setattr(ZooKeeperSession, "nodes", nodes)
    assert set(store.state().document.acls) == {acl("old"), acl("old", "User:b"), acl("new")}


def test_zookeepers_own_acls_are_kept_and_obeyed(
    fresh: tuple[str, Any], opened: Callable[[str], ZookeeperStore]
) -> None:
    url, client = fresh
    anyone = make_acl("world", "anyone", read=True)
    admin = make_digest_acl("kafka", "secret", all=True)
    special = [make_acl("world", "anyone", read=True, create=True, delete=True, write=True)]
    client.ensure_path("/kafka-acl/Topic", acl=None)
    client.set_acls("/kafka-acl/Topic", special)
    client.create("/kafka-acl/Group", b"", acl=[anyone, admin])
    client.create("/config", b"")
    client.create("/config/users", b"", acl=[admin])
    store = opened(url)
    store.create([acl("t")])
    assert client.get_acls("/kafka-acl/Topic/t")[0] == special
    group = acl("g")._replace(resource_type=ResourceType.GROUP)
    with pytest.raises(InvalidSource, match=r"cannot write /kafka-acl/Group/g: .* without authent"):
        store.create([group])
    state = store.state()
    assert state.document.acls == (acl("t"),)
    assert (state.problems, state.doubts) == ((), ())
    [doubt] = state.unread_users
    assert "cannot list /config/users" in doubt.reason
    assert main(["users", url]) == main(["export", url]) == 2
    question = (url, "User:a", "READ", "topic:t", *SUPER[:2])
    assert main(["can", *question]) == main(["users", url, "--salvage"]) == 0


def test_what_cannot_be_read_or_held_stops_it(
    fresh: tuple[str, Any], opened: Callable[[str], ZookeeperStore], zookeeper: RealZookeeper
) -> None:
    url, client = fresh
    [doubt] = opened(url).state().doubts
    assert doubt.reason.startswith("there is no /kafka-acl, ")
    assert main(["can", url, "User:a", "READ", "topic:t"]) == main(["acls", url]) == 2
    with pytest.raises(InvalidSource, match="ZooKeeper has no node /nowhere"):
        opened(f"zookeeper://{zookeeper.server}/nowhere").state()
    with pytest.raises(InvalidTarget, match="more than a node of ZooKeeper holds"):
        opened(url).create([acl("t", f"User:{'x' * 300}{number}") for number in range(3000)])
    client.create("/kafka-acl/Topic/t", b'{"version":1', makepath=True)
    with pytest.raises(
        Exception, match=f"{url}/kafka-acl/Topic/t, line 1, column 13: this is not JSON"
    ):
        opened(url).state()

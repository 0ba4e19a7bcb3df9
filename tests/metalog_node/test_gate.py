"""The readiness gate (KIP-801): a node's errors while it cannot decide, and its opening. The log is
damaged where only the replay finds it, so that it is claimed and not loaded, or at its end, so that
it is not claimed; then it is mended under the running node."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from metalog.controller.scram import AlterScramRequest, salted_upsertion
from metalog.errors import ConfigException, InvalidTarget
from metalog.scram import ScramMechanism
from metalog.wire.client.connection import Connection, Unreachable
from metalog.wire.client.security import PLAINTEXT, client_settings
from metalog_node import node as node_module
from metalog_node.apis import apis_of
from metalog_node.node import Node
from metalog_node.publish.listing_cache import Listings
from tests.support.disk.written_log import formatted
from tests.support.kafka.tools import KafkaTools, free_ports
from tests.support.node.running import BOTH_ROLES, running_in, starting
from tests.support.node.scraping import got, scraped
from tests.support.suite.waiting import eventually
from tests.support.wire import every_request
from tests.support.wire.admin_requests import (
    NodeClient,
    acl_filter,
    create,
    creation,
    delete,
    describe,
    describe_users,
)
from tests.support.wire.every_request import first_error

RETRIABLE = {"Fetch": 8, "FetchSnapshot": 8, "Metadata": 5, "Envelope": 20_000}
"""BROKER_NOT_AVAILABLE, LEADER_NOT_AVAILABLE, AUTHORIZER_NOT_READY."""
NO_PERMISSION_ASKED = {
    ("PLAINTEXT", "DescribeCluster"),
    ("PLAINTEXT", "ScramPassword"),
    ("CONTROLLER", "ScramPassword"),
}
"""ScramPassword is for super users only, who are known from the start."""
NOT_LEADER_OR_FOLLOWER = 6
REQUEST_TIMED_OUT = 7
SECURITY_DISABLED = 54
PASSWORD = "pencil-of-alice"
ALICE = salted_upsertion("alice", ScramMechanism.SCRAM_SHA_512, PASSWORD, b"salt" * 6, 4096)


def log_of_many_segments(folder: Path) -> list[Path]:
    formatted(folder, dynamic=False)
    with running_in(folder, **{"metadata.log.segment.ms": "1"}) as node:
        asker = NodeClient(node.addresses["PLAINTEXT"])
        changed = AlterScramRequest(upsertions=[ALICE])
        assert not node.replica.alter_scram(changed).result(60)["alice"]
        for each in range(5):
            asker.ask(create(creation(resource_name=f"kept-{each}")))
            time.sleep(0.01)
        asker.close()
    segments = sorted((folder / "__cluster_metadata-0").glob("*.log"))
    assert len(segments) > 2
    assert all(each.stat().st_size for each in segments)
    return segments


class Damaged(NamedTuple):
    """A log's folder, with the segment that has a changed byte, and its former bytes."""

    folder: Path
    segment: Path
    whole: bytes

    def mend(self) -> None:
        """At once: a replica that reads half of the last segment takes it for a torn tail."""
        mended = self.folder / "mended"
        mended.write_bytes(self.whole)
        mended.replace(self.segment)


@pytest.fixture(params=["first", "last"])
def damaged(request: pytest.FixtureRequest, tmp_path: Path) -> Damaged:
    segments = log_of_many_segments(tmp_path / "log")
    segment = segments[{"first": 0, "last": -1}[request.param]]
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    return Damaged(tmp_path / "log", segment, whole)


@contextmanager
def shut(folder: Path, super_user: str, *early: str, **changed: str) -> Iterator[Node]:
    """A node, or its ``early`` listeners, that started and cannot load its log."""
    port = free_ports(1)[0]
    settings = {
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:0",
        "metadata.log.dir": str(folder),
        "super.users": super_user,
        "early.start.listeners": ",".join(early),
        "metrics.listener": "http://127.0.0.1:0",
        **changed,
    }
    with starting({**BOTH_ROLES, **settings}) as node:
        yield node


def test_it_stays_shut_says_why_and_opens_once_it_can(
    damaged: Damaged, caplog: pytest.LogCaptureFixture
) -> None:
    with shut(damaged.folder, "User:ANONYMOUS", "CONTROLLER") as node:
        assert eventually(lambda: "will be retried" in caplog.text)
        assert re.search(rf"{damaged.segment}, offset \d+, byte \d+: the checksum", caplog.text)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(node.addresses["PLAINTEXT"])
        early = NodeClient(node.addresses["CONTROLLER"])
        assert error_in(early.ask(every_request.requests()[every_request.QUOTAS])) == 0
        for listing in (describe(), describe_users("alice")):
            assert error_in(early.ask(listing)) == REQUEST_TIMED_OUT
        now = scraped(node.watch_address)
        assert now["metalog_stale_seconds", ""] > now["metalog_ready", ""] == 0
        assert now["metalog_listener_open", "PLAINTEXT"] == 0
        status, said = got(node.watch_address, "/readyz")
        assert status == 503
        assert said.startswith("not ready: the load has failed since ")
        assert str(damaged.segment) in said
        damaged.mend()
        assert eventually(lambda: can_connect(node))
        assert eventually(lambda: got(node.watch_address, "/readyz")[0] == 200)
        assert eventually(lambda: scraped(node.watch_address)["metalog_stale_seconds", ""] == 0)
        late = NodeClient(node.addresses["PLAINTEXT"])
        assert all(f"kept-{each}" in repr(late.ask(describe())) for each in range(5))
        early.close()
        late.close()


@pytest.mark.parametrize("damaged", ["last"], indirect=True)
def test_who_could_not_claim_its_log_is_not_its_leader(damaged: Damaged) -> None:
    requests = every_request.requests()
    with (
        shut(damaged.folder, "User:ANONYMOUS", "CONTROLLER") as node,
        Connection(node.addresses["CONTROLLER"], PLAINTEXT) as connection,
    ):
        for api in (every_request.FETCH, every_request.QUORUM):
            assert first_error(connection.ask(requests[api])) == NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("patience_s", [0.0, 20.0])
def test_who_may_not_have_its_log_ends_though_that_is_found_out_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience_s: float
) -> None:
    formatted(tmp_path)
    with running_in(tmp_path):
        monkeypatch.setattr(node_module, "_PATIENCE_S", patience_s)
        with (
            pytest.raises(InvalidTarget, match=r"a running node holds its \.lock"),
            running_in(tmp_path),
        ):
            pass


def test_a_node_ends_at_a_log_that_its_kafka_does_not_load(tmp_path: Path) -> None:
    """As Kafka 4.3 does, in one line: its decisions would be undefined."""
    folder = formatted(tmp_path, level=33)
    with running_in(folder):
        """Without the key, or as 4.4, it starts."""
    for _ in range(2):
        with (
            pytest.raises(ConfigException, match=r"^kafka.version=4.3: metadata.version 33 is not"),
            running_in(folder, **{"kafka.version": "4.3"}),
        ):
            pass


def can_connect(node: Node) -> bool:
    with socket.socket() as client:
        return client.connect_ex(node.addresses["PLAINTEXT"]) == 0


def test_others_than_super_users_are_told_to_try_again(damaged: Damaged) -> None:
    """By the nearest error after which clients of the API retry."""
    requests = every_request.requests()
    told = {}
    newest = {"kafka.version": "4.4"}
    with shut(damaged.folder, "User:nobody", "PLAINTEXT", "CONTROLLER", **newest) as node:
        for listener, is_for_controllers in (("PLAINTEXT", False), ("CONTROLLER", True)):
            with Connection(node.addresses[listener], PLAINTEXT) as connection:
                for key, api in apis_of(is_for_controllers=is_for_controllers).items():
                    told[listener, api.name] = first_error(connection.ask(requests[key]))
    asked = {each: code for each, code in told.items() if each not in NO_PERMISSION_ASKED}
    assert asked == {each: RETRIABLE.get(each[1], REQUEST_TIMED_OUT) for each in asked}


@pytest.mark.once
def test_a_right_password_is_not_called_wrong_before_the_load(
    damaged: Damaged, tmp_path: Path, kafka_tools: KafkaTools, caplog: pytest.LogCaptureFixture
) -> None:
    """Kafka's own client retries until the node has its users; for ours the node is unavailable, so
    that a follower retries."""
    caplog.set_level("INFO", logger="metalog_node")
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="alice" password="{PASSWORD}";',
    }
    settings = tmp_path / "client.properties"
    settings.write_text("".join(f"{key}={value}\n" for key, value in login.items()))
    protocols = {"listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"}
    with (
        shut(damaged.folder, "User:alice", "PLAINTEXT", **protocols) as node,
        ThreadPoolExecutor(1) as threads,
    ):
        address = node.addresses["PLAINTEXT"]
        with pytest.raises(Unreachable, match="the node is not ready: it has not loaded"):
            Connection(address, client_settings(login))
        listing = threads.submit(
            kafka_tools.answer,
            "org.apache.kafka.tools.AclCommand",
            "--bootstrap-server", str(address),
            "--command-config", settings, "--list",
        )  # fmt: skip
        put_off = "connection closed: the client must log in again: the node is not ready"
        assert eventually(lambda: caplog.text.count(put_off) > 2)
        metrics = scraped(node.watch_address)
        assert metrics["metalog_authentication_unfinished_total", "PLAINTEXT"] > 2
        assert ("metalog_authentication_failures_total", "PLAINTEXT") not in metrics
        damaged.mend()
        assert "kept-4" in listing.result(60).out


def test_listings_are_ready_before_the_gate_opens_the_listeners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the first client could get the error that the log is not loaded."""
    publish = Listings.publish

    def slowly(*arguments: Any) -> None:
        time.sleep(0.3)
        publish(*arguments)

    monkeypatch.setattr(Listings, "publish", slowly)
    formatted(tmp_path)
    with running_in(tmp_path, **{"super.users": "User:ANONYMOUS"}) as node:
        asker = NodeClient(node.addresses["PLAINTEXT"])
        assert [error_in(asker.ask(each)) for each in (describe(), describe_users("a"))] == [0, 91]
        asker.close()


def error_in(answer: object) -> int:
    """The first error in the results of a ``NodeClient``."""
    found = re.search(r"<ErrorCode\.\w+: (-?[1-9]\d*)>", repr(answer))
    return int(found[1]) if found else 0


def test_without_its_authorizer_and_with_it_again_a_node_decides_the_same(tmp_path: Path) -> None:
    """The ACLs stay in the log meanwhile."""
    formatted(tmp_path)
    nobody = {"super.users": "User:nobody", "allow.everyone.if.no.acl.found": "true"}
    granted = creation(
        resource_type=4, resource_name="kafka-cluster", operation=8, principal="User:ANONYMOUS"
    )
    with running_in(tmp_path, **nobody) as node:
        asker = NodeClient(node.addresses["PLAINTEXT"])
        assert error_in(asker.ask(create(granted))) == 0
        before = asker.ask(describe()), asker.ask(create(creation()))
        asker.close()
    with running_in(tmp_path, **{"authorizer.class.name": ""}) as node:
        asker = NodeClient(node.addresses["PLAINTEXT"])
        disabled = [describe(), create(creation()), delete(acl_filter())]
        assert [error_in(asker.ask(each)) for each in disabled] == [SECURITY_DISABLED] * 3
        asker.close()
    with running_in(tmp_path, **nobody) as node:
        asker = NodeClient(node.addresses["PLAINTEXT"])
        assert (asker.ask(describe()), asker.ask(create(creation()))) == before
        asker.close()
    assert [error_in(each) for each in before] == [0, 31]

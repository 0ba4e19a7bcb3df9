"""Metrics and probes of a node, as Prometheus and Kubernetes read them: over HTTP."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

import metalog_node
from authorizer import Operation, PermissionType, ResourceType
from authorizer.api import RequestContext
from metalog.errors import ConfigException, CorruptLog, InvalidRequest, LogFenced
from metalog.loader import Loading, Ready, Stale
from metalog.log.folder_writer.writer import WritableDirectoryLog
from metalog.wire.client.connection import Connection
from metalog.wire.client.security import PLAINTEXT, client_settings
from metalog_node import config_of
from metalog_node.apis import apis_of
from metalog_node.config.dev_config import dev_config
from metalog_node.ops import http_endpoint, node_state
from metalog_node.ops.metrics import Condition, Metrics
from metalog_node.ops.node_state import Probed, health, readiness
from tests.support.disk.written_log import formatted
from tests.support.node.running import BOTH_ROLES, running_in
from tests.support.node.scraping import got, scraped
from tests.support.suite.waiting import eventually
from tests.support.wire import every_request
from tests.support.worlds.small_acls import allow

WATCHED = {"metrics.listener": "http://127.0.0.1:0"}
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


ON_CLUSTER = allow("kafka-cluster", Operation.DESCRIBE, "User:ANONYMOUS", kind=ResourceType.CLUSTER)


def test_a_scrape_tells_what_was_done(tmp_path: Path) -> None:
    formatted(tmp_path)
    with running_in(tmp_path, **WATCHED, **{"super.users": "User:admin"}) as node:
        before = scraped(node.watch_address)
        count = ("kafka_server_authorizer_aclcount", "")
        context = RequestContext("User:admin", "127.0.0.1")
        denied = ON_CLUSTER._replace(operation=Operation.ALTER, permission_type=PermissionType.DENY)
        acls = [ON_CLUSTER, denied]
        for created in node.replica.create_acls(context, acls):
            assert not created.result(60)
        admin = AdminClient({"bootstrap.servers": str(node.addresses["PLAINTEXT"])})
        assert admin.describe_user_scram_credentials().result(60) == {}
        with pytest.raises(KafkaException):
            admin.alter_user_scram_credentials([_deletion()])["nobody"].result(60)
        now = scraped(node.watch_address)
        assert now[count] == before[count] + 2
        assert now["metalog_requests_total", "DescribeUserScramCredentials,NONE"] == 1
        refused = "AlterUserScramCredentials,CLUSTER_AUTHORIZATION_FAILED"
        assert now["metalog_requests_total", refused] == 1
        assert now["metalog_denials_total", "MatchingAcl"] == 1
        assert now["metalog_ready", ""] == 1
        assert now["metalog_stale_seconds", ""] == 0
        assert now["metalog_lag_records", ""] == 0
        offset = ("metalog_last_applied_offset", "")
        assert now[offset] == node.replica.image.provenance.offset - 1 > before[offset]
        syncs = ("metalog_log_sync_seconds_count", "")
        assert now[syncs] > before[syncs] >= 1
        assert now["metalog_connections", "PLAINTEXT"] >= 1
        assert now["metalog_connections", "CONTROLLER"] == 0
        assert now["metalog_listener_open", "CONTROLLER"] == 1


def _deletion() -> object:
    from confluent_kafka.admin import ScramMechanism, UserScramCredentialDeletion

    return UserScramCredentialDeletion("nobody", ScramMechanism.SCRAM_SHA_256)


def test_the_probes_of_a_node_that_serves(tmp_path: Path) -> None:
    formatted(tmp_path)
    with running_in(tmp_path, **WATCHED) as node:
        offset = node.replica.image.provenance.offset
        status, said = got(node.watch_address, "/readyz")
        assert status == 200
        assert said == f"ready, at offset {max(offset, node.replica.image.provenance.offset)}\n"
        assert got(node.watch_address, "/healthz") == (200, "alive\n")
        assert got(node.watch_address, "/") == (
            404,
            "no such page; the pages are /metrics /healthz /readyz\n",
        )


@pytest.mark.parametrize("sent", [b"POST /metrics HTTP/1.1\r\n\r\n", b"\x16\x03\x01\r\n\r\n"])
def test_only_get_is_answered(tmp_path: Path, sent: bytes) -> None:
    formatted(tmp_path)
    with running_in(tmp_path, **WATCHED) as node:
        assert node.watch_address is not None
        with socket.create_connection(node.watch_address) as client:
            client.sendall(sent)
            assert client.recv(100).startswith(b"HTTP/1.1 405 ")
        with socket.create_connection(node.watch_address) as client:
            client.sendall(b"GET /" + b"x" * (16 << 10))
            client.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):  # since not all was read
                assert client.recv(100) == b""
        assert got(node.watch_address, "/healthz")[0] == 200


def test_silent_clients_take_nobodys_place(tmp_path: Path) -> None:
    """Twice as many as there are places, each with an incomplete request."""
    formatted(tmp_path)
    with running_in(tmp_path, **WATCHED) as node, ExitStack() as silent:
        assert node.watch_address is not None
        for each in range(2 * http_endpoint._MOST_CLIENTS):
            client = silent.enter_context(socket.create_connection(node.watch_address))
            client.sendall(b"GET /" if each % 2 else b"")
            if each % 16 == 0:
                assert got(node.watch_address, "/healthz")[0] == 200
        assert got(node.watch_address, "/metrics")[0] == 200


def test_who_sends_no_request_is_let_go_within_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert http_endpoint._REQUEST_S <= 2
    monkeypatch.setattr(http_endpoint, "_REQUEST_S", 0.2)
    formatted(tmp_path)
    with running_in(tmp_path, **WATCHED) as node:
        assert node.watch_address is not None
        with socket.create_connection(node.watch_address) as client:
            client.settimeout(60)
            client.sendall(b"GET /met")
            with suppress(ConnectionResetError):
                assert client.recv(100) == b""


def test_probes_and_metrics_answer_while_a_request_holds_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They report how long nobody was served; afterwards all is well."""
    monkeypatch.setattr(node_state, "LATE_AFTER_S", 0.3)
    formatted(tmp_path)
    held, release = Event(), Event()

    def hold(*_: object) -> object:
        held.set()
        assert release.wait(60)
        raise InvalidRequest("let go")

    quotas = 48
    api = apis_of(is_for_controllers=False)[quotas]._replace(handle=hold)
    config = config_of({**BOTH_ROLES, **WATCHED, "metadata.log.dir": str(tmp_path)})
    late = ("metalog_event_loop_late_seconds", "")
    with (
        metalog_node.running(config, apis={quotas: api}) as node,
        ThreadPoolExecutor(1) as threads,
        Connection(node.addresses["PLAINTEXT"], PLAINTEXT) as connection,
    ):
        assert eventually(lambda: got(node.watch_address, "/readyz")[0] == 200)
        asking = threads.submit(connection.ask, every_request.requests()[quotas])
        try:
            assert held.wait(60)
            assert eventually(lambda: scraped(node.watch_address)[late] >= 0.3)
            assert got(node.watch_address, "/healthz") == (200, "alive\n")
            status, said = got(node.watch_address, "/readyz")
            assert status == 503
            assert said.startswith("not ready: no client was served for ")
            assert scraped(node.watch_address)["metalog_ready", ""] == 0
        finally:
            release.set()
        asking.result(60)
        assert eventually(lambda: got(node.watch_address, "/readyz")[0] == 200)


def test_lines_that_a_log_lost_are_counted() -> None:
    now = Condition(True, 0.0, 1, None, None, {}, lost_lines={"audit": 17, "node": 0})
    text = Metrics(lambda: now).text().decode()
    assert 'metalog_log_lines_lost_total{log="audit"} 17.0' in text
    assert 'metalog_log_lines_lost_total{log="node"} 0.0' in text


def test_a_node_whose_event_loop_does_not_come_back_is_not_alive() -> None:
    stuck = Probed(Ready(4000), None, [], None, late_s=node_state.STUCK_AFTER_S)
    assert health(stuck) == (False, "stuck: no client was served for 60 s")
    assert not readiness(stuck, NOON)[0]
    assert health(stuck._replace(late_s=node_state.LATE_AFTER_S))[0]


def test_before_the_log_is_read_a_node_is_not_ready_and_says_why() -> None:
    loading = Probed(Loading(120, 4000, None), None, ["PLAINTEXT"], None)
    assert readiness(loading, NOON) == (False, "not ready: loading, at offset 120 of 4000")
    fault = CorruptLog("a record that cannot be read", file="x.log", offset=7)
    failing = Probed(Loading(7, 4000, fault), 90.0, ["PLAINTEXT"], None)
    is_ready, said = readiness(failing, NOON)
    assert not is_ready
    assert said.startswith("not ready: the load has failed since 2026-11-21T11:58:30Z: ")
    assert str(fault) in said
    shut = Probed(Ready(4000), None, ["PLAINTEXT", "SSL"], None)
    assert readiness(shut, NOON) == (False, "not ready: not open yet: PLAINTEXT, SSL")
    assert health(failing)[0]


def test_a_stale_node_says_since_when_and_is_ready_until_its_gate_is_shut() -> None:
    stale = Stale(9, CorruptLog("bad crc", file="x.log", offset=9))
    assert readiness(Probed(stale, 60.0, [], None), NOON)[0]
    assert "stale since 2026-11-21T11:59:00Z: " in readiness(Probed(stale, 60.0, [], None), NOON)[1]
    assert readiness(Probed(stale, 59.9, [], 60_000), NOON)[0]
    is_ready, said = readiness(Probed(stale, 60.0, [], 60_000), NOON)
    assert not is_ready
    assert "since 2026-11-21T11:59:00Z" in said


def test_a_node_that_can_write_nothing_more_wants_to_be_started_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It goes on answering from its image; the log says it once."""
    formatted(tmp_path)
    with running_in(tmp_path, **WATCHED) as node:
        assert got(node.watch_address, "/healthz")[0] == 200
        monkeypatch.setattr(WritableDirectoryLog, "append", failing)
        for _ in range(2):
            with pytest.raises(LogFenced):
                node.replica.create_acls(None, [ON_CLUSTER])[0].result(60)
        status, said = got(node.watch_address, "/healthz")
        assert (status, said) == (503, "nothing more can be written: /log: a write failed\n")
        assert got(node.watch_address, "/readyz")[0] == 200
    assert caplog.text.count("no further change is accepted: /log: a write failed") == 1


def failing(*_: object) -> None:
    raise LogFenced("/log: a write failed")


@pytest.mark.parametrize("text", ["127.0.0.1:9404", "https://h:1", "http://a:1,http://b:2"])
def test_a_metrics_listener_is_one_http_address(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigException, match=r"^metrics\.listener: "):
        dev_config(tmp_path / "node", changed={"metrics.listener": text})


def test_a_login_that_fails_is_counted(tmp_path: Path) -> None:
    formatted(tmp_path)
    jaas = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    with running_in(
        tmp_path, **WATCHED, listeners="SASL_PLAINTEXT://127.0.0.1:0,CONTROLLER://:0"
    ) as node:
        settings = client_settings(
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.jaas.config": f'{jaas} username="nobody" password="wrong";',
            }
        )
        with pytest.raises(InvalidRequest, match="invalid credentials"):
            Connection(node.addresses["SASL_PLAINTEXT"], settings)
        failures = ("metalog_authentication_failures_total", "SASL_PLAINTEXT")
        assert eventually(lambda: scraped(node.watch_address).get(failures) == 1)

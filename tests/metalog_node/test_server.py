"""A node's listeners over sockets: which connections are accepted, for how long, and how they are
closed."""

from __future__ import annotations

import asyncio
import re
import resource
import socket
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from pathlib import Path
from threading import Event, current_thread
from typing import Any

import pytest
from kio.schema.errors import ErrorCode as KafkaErrorCode

from authorizer import StandardAuthorizer
from metalog.errors import ApiError, InvalidRequest
from metalog.hosts.host_port import Address
from metalog.wire.frames import framed
from metalog.wire.messages import correlation_of, write_request
from metalog.wire.schema import Body, request_type, response_type
from metalog.wire.versions import VersionRange
from metalog_node import HandledApi, IncomingRequest, Node, config_of, running
from metalog_node.handlers.request import Handle, Services
from metalog_node.net import server
from metalog_node.net.connection_quotas import quotas_for
from metalog_node.publish.publishers import CredentialsPublisher
from tests.support.disk.written_log import formatted
from tests.support.kafka.cases import REPOSITORY
from tests.support.node.certificates import Certified, certified
from tests.support.node.running import BOTH_ROLES, running_in
from tests.support.node.scraping import scraped
from tests.support.suite.waiting import eventually
from tests.support.wire.admin_requests import describe

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
HELLO = framed(write_request(request_type(API_VERSIONS, 0)(), 1, "test"))
_NO_TIME = timedelta()
ASKED = 29
QUESTION = framed(write_request(describe(), 7, "test"))
CONTROLLER = "CONTROLLER://127.0.0.1:0"
PAGE = REPOSITORY / "docs" / "formats" / "node.md"


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    return certified(tmp_path_factory.mktemp("tls"), "/CN=node")


@pytest.fixture
def serve(tmp_path: Path) -> Callable[..., Any]:
    formatted(tmp_path)
    return lambda listener, **changed: running_in(
        tmp_path, listeners=f"{listener}://127.0.0.1:0,{CONTROLLER}", **changed
    )


def connected(address: Address) -> socket.socket:
    return socket.create_connection(address, timeout=60)


def is_hung_up_on(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True


def all_that_is_left(client: socket.socket) -> int:
    size = 0
    while data := client.recv(1 << 20):
        size += len(data)
    return size


def added(handle: Handle) -> HandledApi:
    """An API of the embedding program, in the place of DescribeAcls."""

    def refuse(incoming: IncomingRequest, error: ApiError) -> Body:
        raise AssertionError("nothing is refused here")

    return HandledApi("Added", VersionRange(3, 3), handle, refuse)


def measured(node: Node, metric: str, listener: str) -> float | None:
    value: float | None = node.metrics.registry.get_sample_value(metric, {"listener": listener})
    return value


def test_a_client_that_does_not_finish_tls_counts_and_is_closed(
    serve: Callable[..., Any],
    identity: Certified,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(server, "_HANDSHAKE_S", 1.5)
    keys = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(identity.identity),
        "max.connections": "1",
    }
    with serve("SSL", **keys) as node:
        with connected(node.addresses["SSL"]) as silent, connected(node.addresses["SSL"]) as second:
            assert is_hung_up_on(second)
            assert is_hung_up_on(silent)
        assert eventually(lambda: measured(node, "metalog_connections", "SSL") == 0)
        failures = "metalog_authentication_failures_total"
        assert eventually(lambda: measured(node, failures, "SSL") == 1)
    refused = "SSL: 127.0.0.1: connection closed: TLS handshake failed: took too long"
    assert refused in caplog.text
    refused = "SSL: 127.0.0.1: connection closed: at the limit of 1 clients (max.connections, or"
    assert caplog.text.count(refused) == 1


@pytest.mark.parametrize(
    ("listener", "first_bytes", "why"),
    [
        ("PLAINTEXT", b"\x16\x03\x01\x02\x00\x01", "it speaks TLS, and this listener does not"),
        ("PLAINTEXT", b"GET /metrics HTTP/1.1\r\n", "it speaks HTTP; metrics and probes are on"),
        ("SSL", HELLO, "TLS handshake failed: the client speaks another protocol"),
        ("SSL", b"\x16\3\1\x41\1", "TLS handshake failed: a record of 16641 bytes"),
        ("SSL", b"\x16\3\1\0\4\1\0\x40\1", "TLS handshake failed: a message of 16385 bytes"),
        (
            "SSL",
            b"\x16\3\1\0\2\1\0\x16\3\1\0\2\x40\1",
            "TLS handshake failed: a message of 16385 bytes",
        ),
    ],
)
def test_whoever_speaks_something_else_is_named_in_the_log(
    serve: Callable[..., Any],
    identity: Certified,
    caplog: pytest.LogCaptureFixture,
    listener: str,
    first_bytes: bytes,
    why: str,
) -> None:
    caplog.set_level("INFO")
    with serve(
        listener, **{"ssl.keystore.type": "PEM", "ssl.keystore.location": str(identity.identity)}
    ) as node:
        with connected(node.addresses[listener]) as client:
            client.sendall(first_bytes)
            assert is_hung_up_on(client)
        assert eventually(lambda: f"{listener}: 127.0.0.1: connection closed: {why}" in caplog.text)


def test_whoever_does_not_take_its_answer_is_cut_off(tmp_path: Path) -> None:
    """Nothing is kept for it: closing alone would wait until it has read everything."""
    size, was_asked = 16 << 20, Event()

    def answer(services: Services, incoming: IncomingRequest) -> bytes:
        was_asked.set()
        return bytes(size)

    apis = {ASKED: added(answer)}
    formatted(tmp_path)
    config = {"metadata.log.dir": str(tmp_path), "connections.max.idle.ms": "300"}
    with (
        running(config_of(BOTH_ROLES | config), apis=apis) as node,
        connected(node.addresses["PLAINTEXT"]) as client,
    ):
        client.sendall(QUESTION)
        assert was_asked.wait(60)
        assert eventually(lambda: measured(node, "metalog_connections", "PLAINTEXT") == 0)
        assert all_that_is_left(client) < size


def test_an_answer_that_is_not_taken_holds_its_own_bytes_and_no_request(tmp_path: Path) -> None:
    """For a request as long as the answer."""
    beside = re.search(r"does not take \| its bytes and (\d+) KiB", PAGE.read_text())
    assert beside is not None
    size, piece = 12 << 20, 1 << 20
    apis = {ASKED: added(lambda services, incoming: bytes(size))._replace(most_bytes=2 * size)}
    formatted(tmp_path)
    config = {"metadata.log.dir": str(tmp_path)}
    with (
        running(config_of(BOTH_ROLES | config), apis=apis) as node,
        connected(node.addresses["PLAINTEXT"]) as client,
    ):
        client.sendall((len(QUESTION) - 4 + size).to_bytes(4, "big") + QUESTION[4:])
        more = bytes(piece)
        tracemalloc.start()
        try:
            for _ in range(size // piece):
                client.sendall(more)
            assert client.recv(4, socket.MSG_WAITALL) == (size).to_bytes(4, "big")
            most = size + int(beside[1]) * 1024
            assert eventually(lambda: tracemalloc.get_traced_memory()[0] < most)
        finally:
            tracemalloc.stop()


def test_a_node_that_stops_answers_what_it_was_asked(tmp_path: Path) -> None:
    """It closes idle connections at once."""
    later: Future[Body] = Future()
    later.set_running_or_notify_cancel()
    was_asked = Event()

    def asked(services: Services, incoming: IncomingRequest) -> Future[Body]:
        was_asked.set()
        return later

    apis = {ASKED: added(asked)}
    formatted(tmp_path)
    config = config_of(BOTH_ROLES | {"metadata.log.dir": str(tmp_path)})

    async def asked_while_it_stops() -> tuple[bytes, bytes, bytes]:
        async with Node(config, apis=apis) as node:
            await node.ready()
            address = node.addresses["PLAINTEXT"]
            idle, idle_writer = await asyncio.open_connection(*address)
            reader, writer = await asyncio.open_connection(*address)
            writer.write(QUESTION)
            assert await asyncio.to_thread(was_asked.wait, 60)
            closing = asyncio.create_task(node.close())
            said_to_idle = await idle.read()
            declared = response_type(ASKED, 3)
            later.set_result(
                declared(
                    throttle_time=_NO_TIME,
                    error_code=KafkaErrorCode.none,
                    error_message=None,
                    resources=(),
                )
            )
            answer = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
            rest = await reader.read()
            await closing
            for each in (idle_writer, writer):
                each.close()
                await each.wait_closed()
            return said_to_idle, answer, rest

    said_to_idle, answer, rest = asyncio.run(asked_while_it_stops())
    assert (said_to_idle, correlation_of(answer), rest) == (b"", 7, b"")


def test_a_disabled_mechanism_is_refused_after_a_pause(serve: Callable[..., Any]) -> None:
    delay = {"connection.failed.authentication.delay.ms": "400"}
    with (
        serve("SASL_PLAINTEXT", **delay) as node,
        connected(node.addresses["SASL_PLAINTEXT"]) as client,
    ):
        hello = request_type(SASL_HANDSHAKE, 1)(mechanism="GSSAPI")
        began = time.monotonic()
        client.sendall(framed(write_request(hello, 1, "test")))
        assert b"SCRAM-SHA-256" in client.recv(4096)
        assert time.monotonic() - began >= 0.4
        assert is_hung_up_on(client)


def test_who_leaves_before_the_pause_ends_leaves_no_connection(serve: Callable[..., Any]) -> None:
    delay = {"connection.failed.authentication.delay.ms": "400"}
    watched = {"metrics.listener": "http://127.0.0.1:0"}
    with serve("SASL_PLAINTEXT", **delay, **watched) as node:
        with connected(node.addresses["SASL_PLAINTEXT"]) as client:
            hello = request_type(SASL_HANDSHAKE, 1)(mechanism="GSSAPI")
            client.sendall(framed(write_request(hello, 1, "test")))
        failed = "metalog_authentication_failures_total", "SASL_PLAINTEXT"
        assert eventually(lambda: scraped(node.watch_address).get(failed))
        held = "metalog_connections", "SASL_PLAINTEXT"
        assert eventually(lambda: scraped(node.watch_address)[held] == 0)
        assert scraped(node.watch_address)[failed] == 1


def test_a_refused_login_is_told_after_a_pause(serve: Callable[..., Any]) -> None:
    delay = {"connection.failed.authentication.delay.ms": "400"}
    with (
        serve("SASL_PLAINTEXT", **delay) as node,
        connected(node.addresses["SASL_PLAINTEXT"]) as client,
    ):
        hello = request_type(SASL_HANDSHAKE, 1)(mechanism="SCRAM-SHA-256")
        client.sendall(framed(write_request(hello, 1, "test")))
        assert client.recv(4096)
        token = request_type(SASL_AUTHENTICATE, 2)(auth_bytes=b"nonsense")
        began = time.monotonic()
        client.sendall(framed(write_request(token, 2, "test")))
        assert b"invalid credentials" in client.recv(4096)
        assert time.monotonic() - began >= 0.4
        assert is_hung_up_on(client)


def test_users_are_known_before_the_gate_opens_the_listeners(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the first client of a listener could get the error that the node is not ready."""
    done: list[str] = []
    for publisher in (CredentialsPublisher, StandardAuthorizer):
        complete = publisher.complete_initial_load

        def noted(self: Any, complete: Any = complete, name: str = publisher.__name__) -> None:
            done.append(name)
            complete(self)

        monkeypatch.setattr(publisher, "complete_initial_load", noted)
    with serve("SASL_PLAINTEXT"):
        assert done[:2] == ["CredentialsPublisher", "StandardAuthorizer"]


def test_the_hosts_own_name_is_looked_up_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look-up without an answer takes seconds; an open listener serves clients meanwhile."""
    threads: list[str] = []

    def name() -> str:
        threads.append(current_thread().name)
        return "this-host"

    monkeypatch.setattr(socket, "getfqdn", name)
    formatted(tmp_path)
    with running_in(tmp_path, listeners=f"PLAINTEXT://:0,{CONTROLLER}") as node:
        assert node.addresses["PLAINTEXT"].host == "this-host"
    assert threads
    assert "metalog-node" not in threads


@pytest.mark.parametrize(
    ("files", "configured", "places"), [(1024, 1 << 31, 896), (1024, 3, 3), (64, 1 << 31, 32)]
)
def test_some_files_are_left_for_the_node(
    monkeypatch: pytest.MonkeyPatch, files: int, configured: int, places: int
) -> None:
    """A log without a file descriptor for its next segment is fenced."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    found = quotas_for(configured, 1 << 31)
    taken = [found.take("X", "127.0.0.1") for _ in range(places + 1)]
    assert taken[:-1] == [None] * places
    assert taken[-1] == f"{places} clients (max.connections, or the limit of open files)"


def test_one_address_leaves_connections_to_others() -> None:
    places = quotas_for(10, 2)
    hosts = ["10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2"]
    exhausted = "2 clients from 10.0.0.1 (max.connections.per.ip)"
    assert [places.take("X", host) for host in hosts] == [None, None, exhausted, None]
    places.leave("X", "10.0.0.1")
    assert places.take("X", "10.0.0.1") is None


def test_a_listener_has_no_more_clients_than_its_own_limit() -> None:
    places = quotas_for(10, 10, {"X": 1})
    exhausted = "1 clients at this listener (its own max.connections)"
    assert [places.take(name, "10.0.0.1") for name in ("X", "X", "Y")] == [None, exhausted, None]
    places.leave("X", "10.0.0.1")
    assert places.take("X", "10.0.0.1") is None


def test_an_ipv4_client_of_an_ipv6_listener_is_known_by_its_ipv4_address(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In Java's form, in which ACLs name hosts."""
    caplog.set_level("INFO")
    formatted(tmp_path)
    keys = {
        "listeners": f"PLAINTEXT://[::]:0,{CONTROLLER}",
        "advertised.listeners": "PLAINTEXT://127.0.0.1:0",
        "super.users": "User:admin",
    }
    with running_in(tmp_path, **keys) as node, connected(node.addresses["PLAINTEXT"]) as client:
        client.sendall(QUESTION)
        assert client.recv(4096)
    assert "User:ANONYMOUS is Denied operation = DESCRIBE from host = 127.0.0.1 on" in caplog.text


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("listeners", f"PLAINTEXT://a..b:9092,{CONTROLLER}"),
        ("metrics.listener", "http://a..b:9092"),
    ],
)
def test_a_listener_that_has_no_host_name_is_named(tmp_path: Path, key: str, value: str) -> None:
    formatted(tmp_path)
    refusal = pytest.raises(InvalidRequest, match=r"a\.\.b:9092 cannot be opened: not a valid host")
    with refusal, running_in(tmp_path, **{key: value}):
        pass


def test_every_address_of_a_listener_has_the_same_port(tmp_path: Path) -> None:
    """Port 0 is one free port, not one for each."""
    formatted(tmp_path)
    listeners = f"PLAINTEXT://localhost:0,{CONTROLLER}"
    with running_in(tmp_path, listeners=listeners) as node:
        port = node.addresses["PLAINTEXT"].port
        found = socket.getaddrinfo("localhost", port, type=socket.SOCK_STREAM)
        for *_, address in found:
            with connected(Address(*address[:2])) as client:
                client.sendall(HELLO)
                assert client.recv(4096)

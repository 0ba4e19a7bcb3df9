"""Too many clients, slow clients, and clients of other protocols are disconnected, with a reason
in the log."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import metalog_node
from metalog.hosts.host_port import Address
from metalog_node.net import client as client_module
from metalog_node.net import refusal_log
from metalog_node.node import Node
from tests.support.disk.written_log import formatted
from tests.support.node import hoarders
from tests.support.node.running import running_in
from tests.support.node.scraping import scraped
from tests.support.suite.waiting import eventually

LOGIN = {
    "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "listeners": "CLIENT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
}
GARBAGE = {
    "GET / HTTP/1.1\r\n\r\n": "it speaks HTTP",
    "\0\0\x20\1": "a frame of 8193 bytes, but at most 8192 are accepted",
    "\0\0\0\2ab": "a request of 2 bytes is shorter than its header",
    "\0\0\0\x0a\0\x1d\0\3\0\0\0\1\0\0": "API 29 was requested before the login",
    "\0\0\0\x0a\x27\x0f\0\3\0\0\0\1\0\0": "API 9999 is unknown in version 3",
}


@contextmanager
def connected(address: Address) -> Iterator[socket.socket]:
    with socket.create_connection(address) as client:
        client.settimeout(60)
        yield client


@contextmanager
def running(folder: Path, caplog: pytest.LogCaptureFixture, **changed: str) -> Iterator[Node]:
    caplog.set_level("INFO", logger=metalog_node.__name__)
    formatted(folder)
    with running_in(folder, **changed) as node:
        yield node


@pytest.mark.parametrize(("sent", "reason"), GARBAGE.items())
def test_garbage_is_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, sent: str, reason: str
) -> None:
    with running(tmp_path, caplog, **LOGIN) as node, connected(node.addresses["CLIENT"]) as client:
        client.sendall(sent.encode("latin-1"))
        assert client.recv(100) == b""
    assert f"CLIENT: 127.0.0.1: connection closed: {reason}" in caplog.text


def test_who_does_not_say_who_it_is_is_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if it keeps sending."""
    monkeypatch.setattr(client_module, "_LOGIN_S", 0.5)
    with running(tmp_path, caplog, **LOGIN) as node, connected(node.addresses["CLIENT"]) as client:
        client.sendall(b"\0\0\0\x0a\0\x12\0\0\0\0\0\1\xff\xff")
        while client.recv(1000):
            continue
    assert "connection closed: too slow to authenticate" in caplog.text


def test_who_is_idle_is_closed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    idle = {"connections.max.idle.ms": "300"}
    with (
        running(tmp_path, caplog, **idle) as node,
        connected(node.addresses["PLAINTEXT"]) as client,
    ):
        client.sendall(b"\0\0\0\x0a")
        assert client.recv(100) == b""
    assert "PLAINTEXT: 127.0.0.1: connection closed: idle for too long" in caplog.text


def test_there_are_no_more_than_max_connections(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Over all listeners; a closed connection makes room."""
    with running(tmp_path, caplog, **{"max.connections": "2"}) as node:
        first, second = node.addresses["PLAINTEXT"], node.addresses["CONTROLLER"]
        with connected(first) as one:
            assert is_let_in(one)
            with connected(second) as other:
                assert is_let_in(other)
                with connected(first) as third:
                    assert not is_let_in(third)
            assert "at the limit of 2 clients (max.connections, or" in caplog.text
            assert any(comes_later(first) for _ in range(1000))


@pytest.mark.parametrize("how", ["hangs up", "is refused"])
def test_who_ends_amid_its_login_is_counted_and_has_a_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    """A client that only checks the port has neither."""
    watched = {"metrics.listener": "http://127.0.0.1:0"}
    with running(tmp_path, caplog, **LOGIN, **watched) as node:
        address = node.addresses["CLIENT"]
        with connected(address):
            pass
        with hoarders.of_a_login(address) as client:
            if how == "is refused":
                client.sendall(b"\0")
                assert client.recv(1000) == b""
        counted = "metalog_authentication_unfinished_total", "CLIENT"
        assert eventually(lambda: counted in scraped(node.watch_address))
        assert scraped(node.watch_address)[counted] == 1
    assert caplog.text.count("CLIENT: 127.0.0.1: connection closed: ") == 1


def test_strangers_do_not_fill_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few lines in each period, and then the number of the others."""
    monkeypatch.setattr(refusal_log, "PERIOD_S", 3600.0)
    with running(tmp_path, caplog, **LOGIN) as node:
        for _ in range(3 * refusal_log.MOST_LINES_OF_ADDRESS):
            with connected(node.addresses["CLIENT"]) as client:
                client.sendall(b"GET / HTTP/1.1\r\n\r\n")
                assert client.recv(100) == b""
    most = refusal_log.MOST_LINES_OF_ADDRESS
    assert caplog.text.count("CLIENT: 127.0.0.1: connection closed: ") == most
    many = 2 * most
    said = f"within 3600 s, {many} more connections were closed without a line, {many} of them"
    assert caplog.text.count(said) == 1


def test_clients_that_come_and_go_at_the_limit_do_not_fill_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusal_log, "PERIOD_S", 3600.0)
    rounds = 3 * refusal_log.MOST_LINES_OF_ADDRESS
    with running(tmp_path, caplog, **{"max.connections.per.ip": "1"}) as node:
        address = node.addresses["PLAINTEXT"]
        for _ in range(rounds):
            assert any(is_followed_by_a_refusal(address) for _ in range(1000))
    assert caplog.text.count("at the limit of 1 clients") == refusal_log.MOST_LINES_OF_ADDRESS
    assert len(caplog.text.splitlines()) < rounds


def is_followed_by_a_refusal(address: Address) -> bool:
    """Whether a client is accepted, and another one beside it is not."""
    with connected(address) as one:
        if not is_let_in(one):
            return False
        with connected(address) as other:
            return not is_let_in(other)


def test_the_log_of_refusals_is_bounded_over_all_addresses(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is bounded as well; the next period starts at zero."""
    caplog.set_level("INFO", logger=metalog_node.__name__)

    async def note() -> None:
        refusals = refusal_log.RefusalLog()
        for each in range(5000):
            refusals.note("CLIENT", f"10.0.{each // 256}.{each % 256}", "why")
        refusals.end_period()
        refusals.note("CLIENT", "10.0.0.1", "why")
        refusals.end_period()

    asyncio.run(note())
    assert caplog.text.count("connection closed: why") == refusal_log.MOST_LINES + 1
    assert "within 10 s, 4900 more connections were closed without a line, 3876 of" in caplog.text


def is_let_in(client: socket.socket) -> bool:
    try:
        client.sendall(b"\0\0\0\x0a\0\x12\0\0\0\0\0\1\xff\xff")
        return client.recv(10) != b""
    except ConnectionError:
        return False


def comes_later(address: Address) -> bool:
    with connected(address) as client:
        return is_let_in(client)

"""Clients that are too many, too slow, or no clients at all: let go, with a reason in the log."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from running_node import running_in
from written_log import formatted

import metalog_node
from metalog.wire.hosts import Address
from metalog_node import client as client_module
from metalog_node.node import Node

LOGIN = {
    "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "listeners": "CLIENT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
}
GARBAGE = {
    "GET / HTTP/1.1\r\n\r\n": "it speaks HTTP",
    "\0\0\x20\1": "a frame of 8193 bytes, where at most 8192 are taken",
    "\0\0\0\2ab": "a request of 2 bytes, which is less than its header",
    "\0\0\0\x0a\0\x1d\0\3\0\0\0\1\0\0": "API 29 is asked before the login",
    "\0\0\0\x0a\x27\x0f\0\3\0\0\0\1\0\0": "API 9999 is not known in version 3",
}


@contextmanager
def connected(address: Address) -> Iterator[socket.socket]:
    with socket.create_connection(address) as client:
        client.settimeout(10)
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
    """Though it keeps talking."""
    monkeypatch.setattr(client_module, "_LOGIN_S", 0.5)
    with running(tmp_path, caplog, **LOGIN) as node, connected(node.addresses["CLIENT"]) as client:
        client.sendall(b"\0\0\0\x0a\0\x12\0\0\0\0\0\1\xff\xff")
        while client.recv(1000):
            continue
    assert "connection closed: too slow to say who it is" in caplog.text


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
    """Of all listeners together; who leaves makes room."""
    with running(tmp_path, caplog, **{"max.connections": "2"}) as node:
        first, second = node.addresses["PLAINTEXT"], node.addresses["CONTROLLER"]
        with connected(first) as one:
            assert is_let_in(one)
            with connected(second) as other:
                assert is_let_in(other)
                with connected(first) as third:
                    assert not is_let_in(third)
            assert "no more clients than 2 together, by max.connections" in caplog.text
            assert any(comes_later(first) for _ in range(1000))


def is_let_in(client: socket.socket) -> bool:
    try:
        client.sendall(b"\0\0\0\x0a\0\x12\0\0\0\0\0\1\xff\xff")
        return client.recv(10) != b""
    except ConnectionError:
        return False


def comes_later(address: Address) -> bool:
    with connected(address) as client:
        return is_let_in(client)

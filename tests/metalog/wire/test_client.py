"""A failing connection reports in one line who and why, in time, and is closed."""

from __future__ import annotations

import gc
import socket
import time
from contextlib import closing, suppress
from datetime import timedelta
from functools import partial
from math import inf

import pytest
from kio.schema.errors import ErrorCode as KafkaErrorCode

from metalog.hosts.host_port import Address
from metalog.wire.client.connection import BareConnection, Connection, Unreachable
from metalog.wire.client.security import PLAINTEXT, client_settings
from metalog.wire.frames import Malformed, framed
from metalog.wire.messages import read_head, write_response
from metalog.wire.schema import request_type, response_parts
from tests.support.wire.peers import next_frame, opened, serving

HASTY = PLAINTEXT._replace(request_timeout_s=1.0)
ASKED = request_type(60, 1)(include_cluster_authorized_operations=False)


def test_nobody_listens() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(
        Unreachable,
        match=f"^127.0.0.1:{port}: connection refused: nothing listens there; check the address",
    ):
        Connection(Address("127.0.0.1", port), PLAINTEXT)


@pytest.mark.parametrize("host", ["a..b", "a" * 64])
def test_what_cannot_be_a_host_name_is_named(host: str) -> None:
    address = Address(host, 9092)
    for connect in (partial(Connection, settings=PLAINTEXT), partial(BareConnection, until=inf)):
        with pytest.raises(Unreachable, match=rf"^{address}: not a valid host name$"):
            connect(address)


def test_a_host_name_without_addresses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [])
    with pytest.raises(Unreachable, match=r"^empty:9092: the host name has no address$"):
        Connection(Address("empty", 9092), PLAINTEXT)


def test_it_hangs_up_at_once() -> None:
    with serving(lambda peer: None) as address, pytest.raises(Unreachable) as raised:
        Connection(address, PLAINTEXT)
    assert str(raised.value) == (
        f"{address}: it closed the connection at our first bytes; it may want TLS or SASL: "
        "set security.protocol (the command takes it from --command-config FILE)"
    )


def test_it_says_nothing() -> None:
    silent = serving(lambda peer: peer.makefile("rb").read())
    with silent as address, pytest.raises(Unreachable, match="no answer in time"):
        Connection(address, HASTY)


def test_it_says_little_by_little() -> None:
    """The deadline is the request's, not each byte's: 256 bytes would take half a minute."""

    def drip(peer: socket.socket) -> None:
        opened(peer)
        peer.sendall(b"\0\0\1\0")
        with suppress(OSError):
            while True:
                time.sleep(0.1)
                peer.sendall(b"\0")

    with (
        serving(drip) as address,
        Connection(address, HASTY) as connection,
        pytest.raises(Unreachable, match="no answer in time"),
    ):
        connection.ask(ASKED)


def test_it_hangs_up_on_a_question() -> None:
    with serving(opened) as address, Connection(address, PLAINTEXT) as connection:
        with pytest.raises(
            Unreachable, match=r"it closed the connection at our first request; .* by SASL"
        ):
            connection.ask(ASKED)
        with pytest.raises(Unreachable, match="it closed the connection"):
            connection.ask(ASKED)


def test_it_hangs_up_on_a_later_question() -> None:
    def answer_once(peer: socket.socket) -> None:
        frames = opened(peer)
        head = read_head(next_frame(peer, frames))
        body = response_parts(60, 1).DescribeClusterResponse(
            throttle_time=timedelta(), error_code=KafkaErrorCode.none, cluster_id="c", brokers=()
        )
        peer.sendall(framed(write_response(body, head.correlation_id)))

    with serving(answer_once) as address, Connection(address, PLAINTEXT) as connection:
        assert connection.ask(ASKED).cluster_id == "c"
        with pytest.raises(Unreachable, match=r"it closed the connection$"):
            connection.ask(ASKED)


def test_a_name_for_a_dead_and_a_live_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as ``localhost``, for ::1 without a listener and for 127.0.0.1."""
    with serving(opened) as address:
        dead = socket.getaddrinfo("127.0.0.1", 1, type=socket.SOCK_STREAM)
        live = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [*dead, *live])
        Connection(Address("both", address.port), PLAINTEXT).close()


def test_a_connection_that_is_forgotten_is_closed() -> None:
    closed: list[bytes] = []

    def wait(peer: socket.socket) -> None:
        opened(peer)
        closed.append(peer.recv(1))

    with serving(wait) as address:
        Connection(address, PLAINTEXT)
        gc.collect()
    assert closed == [b""]


@pytest.mark.parametrize(
    ("bytes_sent", "said"),
    [
        (b"\x15\x03\x03\x00\x02\x02\x50", "it speaks TLS, and wants SSL or SASL_SSL: set security"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP server"),
        (framed(b"\0\0\0\x09") + b"x", "it answers request 9|answers request 9 out of order"),
        (framed(b"\0\0\0\1\0\0\xff\xff\xff\xff\x0f"), "bytes that are not ApiVersionsResponse"),
    ],
)
def test_it_speaks_something_else(bytes_sent: bytes, said: str) -> None:
    with (
        serving(lambda peer: peer.sendall(bytes_sent)) as address,
        pytest.raises(Malformed, match=said),
    ):
        Connection(address, PLAINTEXT)


def test_no_tls_where_it_was_asked_for() -> None:
    settings = client_settings({"security.protocol": "SSL"})
    with (
        serving(lambda peer: peer.sendall(b"not TLS at all")) as address,
        pytest.raises(Unreachable, match=r"no TLS connection: .*it may be a listener without TLS"),
    ):
        Connection(address, settings)

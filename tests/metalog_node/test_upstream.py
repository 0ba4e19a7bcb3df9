"""Requests that a program forwards to its broker; the test is the broker."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from authorizer.api import RequestContext
from metalog.principal import KafkaPrincipal
from metalog.wire.frames import FrameReader, framed
from metalog.wire.messages import read_request, write_request
from metalog.wire.schema import request_type
from metalog_node.config.listeners import Listener, SecurityProtocol
from metalog_node.handlers.request import IncomingRequest
from metalog_node.upstream import Upstream
from tests.support.wire.peers import next_frame

PATIENCE_S = 30
CLIENTS = Listener("CLIENT", "127.0.0.1", 9092, SecurityProtocol.PLAINTEXT, False)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with closing(socket.create_server(("127.0.0.1", 0))) as opened:
        opened.settimeout(PATIENCE_S)
        yield opened


@pytest.fixture
def upstream(listener: socket.socket) -> Iterator[Upstream]:
    with closing(Upstream(f"127.0.0.1:{listener.getsockname()[1]}")) as opened:
        yield opened


def numbered(number: int) -> IncomingRequest:
    body = request_type(60, 1)(include_cluster_authorized_operations=False)
    payload = write_request(body, number, "client")
    context = RequestContext(KafkaPrincipal("User", "a"), "127.0.0.1", CLIENTS.name, "Any")
    return IncomingRequest(read_request(payload), payload, context, CLIENTS, False)


def received(peer: socket.socket) -> bytes:
    return next_frame(peer, FrameReader())


def test_idle_connections_that_the_broker_has_closed_fail_no_request(
    listener: socket.socket, upstream: Upstream
) -> None:
    """As by the broker's ``connections.max.idle.ms``: all of them at once."""
    first = [upstream.ask(numbered(number)) for number in range(3)]
    peers = [listener.accept()[0] for _ in first]
    for peer in peers:
        peer.sendall(framed(received(peer)))
    answers = {future.result(PATIENCE_S) for future in first}
    assert answers == {numbered(number).payload for number in range(3)}
    for peer in peers:
        peer.close()
    later = upstream.ask(numbered(3))
    with listener.accept()[0] as peer:
        peer.sendall(framed(received(peer)))
        assert later.result(PATIENCE_S) == numbered(3).payload


def test_an_idle_connection_is_used_again(listener: socket.socket, upstream: Upstream) -> None:
    answer = upstream.ask(numbered(0))
    with listener.accept()[0] as peer:
        for number in range(1, 4):
            peer.sendall(framed(received(peer)))
            answer.result(PATIENCE_S)
            answer = upstream.ask(numbered(number))
        peer.sendall(framed(received(peer)))
        assert answer.result(PATIENCE_S) == numbered(3).payload


def test_a_request_that_the_broker_may_have_carried_out_is_sent_once(
    listener: socket.socket, upstream: Upstream
) -> None:
    first = upstream.ask(numbered(0))
    with listener.accept()[0] as peer:
        peer.sendall(framed(received(peer)))
        first.result(PATIENCE_S)
        change = upstream.ask(numbered(1))
        assert received(peer) == numbered(1).payload
    with pytest.raises(ConnectionError):
        change.result(PATIENCE_S)
    listener.setblocking(False)
    with pytest.raises(BlockingIOError):
        listener.accept()

"""Peers of a wire client that answer as a test says, or not at all.

A real node cannot be made to close the connection between a request and its answer. This module
must not know what a client makes of an answer.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from threading import Thread
from typing import Any

from metalog.errors import ErrorCode
from metalog.hosts.host_port import Address
from metalog.wire.frames import FrameReader, framed
from metalog.wire.messages import read_head, read_request, write_response
from metalog.wire.schema import Body
from metalog.wire.versions import Features, VersionRange, versions_response

SPOKEN = {
    3: VersionRange(0, 13),
    18: VersionRange(0, 4),
    **{key: VersionRange(1, 3) for key in (29, 30, 31)},
    60: VersionRange(0, 2),
}
FEATURES = Features({}, {}, 0)


@contextmanager
def serving(talk: Callable[[socket.socket], Any]) -> Iterator[Address]:
    """Accept one connection, talk to it, and close it."""

    def serve() -> None:
        peer, _ = listener.accept()
        with peer:
            talk(peer)

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        thread = Thread(target=serve)
        thread.start()
        yield Address("127.0.0.1", listener.getsockname()[1])
        thread.join(timeout=10)


def opened(peer: socket.socket) -> FrameReader:
    """Answer the ApiVersions request."""
    frames = FrameReader()
    head = read_head(next_frame(peer, frames))
    body = versions_response(head.version, ErrorCode.NONE, SPOKEN, FEATURES)
    peer.sendall(framed(write_response(body, head.correlation_id)))
    return frames


def next_frame(peer: socket.socket, frames: FrameReader) -> bytes:
    while True:
        data = peer.recv(1 << 16)
        if not data:
            raise ConnectionResetError
        if found := list(frames.feed(data)):
            return found[0]


Answer = Callable[[Body], Body | None]
"""The answer to a request; None hangs up."""


@contextmanager
def answering(answer: Answer) -> Iterator[tuple[Address, list[str]]]:
    """A peer that accepts any number of connections, and the names of the requests it received. It
    closes all at the end."""
    asked: list[str] = []
    peers: list[socket.socket] = []

    def talk(peer: socket.socket) -> None:
        frames = opened(peer)
        while True:
            request = read_request(next_frame(peer, frames))
            asked.append(type(request.body).__name__.removesuffix("Request"))
            body = answer(request.body)
            if body is None:
                return
            peer.sendall(framed(write_response(body, request.head.correlation_id)))

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            peers.append(peer)
            with peer, suppress(OSError):
                talk(peer)

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        thread = Thread(target=serve)
        thread.start()
        try:
            yield Address("127.0.0.1", listener.getsockname()[1]), asked
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for peer in peers:
                with suppress(OSError):
                    peer.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=10)

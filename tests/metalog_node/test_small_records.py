"""A client that sends TLS byte by byte blocks the event loop no longer than others."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from socket import create_connection, socket

import pytest

from metalog.hosts.host_port import Address
from tests.support.disk.written_log import formatted
from tests.support.node.blocked_loop import ticking
from tests.support.node.certificates import certified
from tests.support.node.running import BOTH_ROLES

CLIENTS, RECORDS = 25, 1_400
"""As many records as the node's buffers take at once."""
HELD_S = 0.2
HEAD = 5
FRAME = (1 << 20).to_bytes(4, "big")


def in_small_records(hello: bytes) -> bytes:
    """The same handshake message with each byte in its own record."""
    kind = hello[:3]
    return b"".join(kind + b"\0\1" + bytes((each,)) for each in hello[HEAD:])


def tls() -> tuple[ssl.SSLObject, ssl.MemoryBIO, ssl.MemoryBIO]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["x" * 250] * 30)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    return context.wrap_bio(incoming, outgoing), incoming, outgoing


def of_a_hello(client: socket) -> bytes:
    end, _, outgoing = tls()
    with pytest.raises(ssl.SSLWantReadError):
        end.do_handshake()
    return in_small_records(outgoing.read())


def of_a_request(client: socket) -> bytes:
    end, incoming, outgoing = tls()
    is_agreed = False
    while not is_agreed:
        try:
            end.do_handshake()
            is_agreed = True
        except ssl.SSLWantReadError:
            client.sendall(outgoing.read())
            incoming.write(client.recv(1 << 16))
    for each in (*FRAME, *bytes(RECORDS)):
        end.write(bytes((each,)))
    return outgoing.read()


@pytest.mark.parametrize("made", [of_a_hello, of_a_request])
def test_many_small_records_of_many_clients_do_not_add_up(
    tmp_path: Path, made: Callable[[socket], bytes]
) -> None:
    """Each is read within a turn of the loop unless it yields; the test measures the loop's CPU."""
    properties = {
        **BOTH_ROLES,
        "metadata.log.dir": str(formatted(tmp_path / "log")),
        "listeners": "SSL://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certified(tmp_path, "/CN=node").identity),
    }
    with ExitStack() as stack:
        node, ticks = stack.enter_context(ticking(properties))
        address: Address = node.addresses["SSL"]
        clients = [
            stack.enter_context(create_connection(address, timeout=30)) for _ in range(CLIENTS)
        ]
        sent = [made(each) for each in clients]
        ticks.take()
        for client, data in zip(clients, sent, strict=True):
            client.sendall(data)
        another = stack.enter_context(create_connection(address, timeout=30))
        of_a_request(another)
        assert ticks.take().by_itself < HELD_S

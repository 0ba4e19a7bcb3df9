"""Clients that make a node use as much memory as possible before they log in.

Each goes as far as it can without a login, and then stops in the middle of the largest message
that it may send. This module must not know how much is too much.
"""

from __future__ import annotations

import socket
import ssl
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from metalog.hosts.host_port import Address
from metalog.wire.frames import framed
from metalog.wire.messages import write_request
from metalog.wire.schema import request_type
from metalog_node.net.connection import BEFORE_LOGIN_BYTES
from metalog_node.net.tls_stream import MOST_MESSAGE_BYTES

SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
_NONCE = b64encode(bytes(512)).decode()

Hoarder = Callable[[Address], socket.socket]


def of_a_login(address: Address) -> socket.socket:
    """Begin SCRAM, and send all of the next frame except one byte."""
    return _half_logged_in(_connected(address))


def of_a_login_over_tls(address: Address) -> socket.socket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return _half_logged_in(context.wrap_socket(_connected(address)))


def of_a_hello(address: Address) -> socket.socket:
    """Send the longest accepted ClientHello, except some bytes."""
    client = _connected(address)
    piece = b"\x01" + MOST_MESSAGE_BYTES.to_bytes(3, "big") + b"\x03\x03" + bytes(16_000)
    client.sendall(b"\x16\x03\x01" + len(piece).to_bytes(2, "big") + piece)
    return client


@contextmanager
def hoarding(hoarder: Hoarder, address: Address, count: int) -> Iterator[None]:
    with ExitStack() as clients, ThreadPoolExecutor(count) as threads:
        for client in threads.map(hoarder, [address] * count):
            clients.enter_context(client)
        yield


def _connected(address: Address) -> socket.socket:
    return socket.create_connection(address, timeout=60)


def _half_logged_in(client: socket.socket) -> socket.socket:
    handshake = request_type(SASL_HANDSHAKE, 1)(mechanism="SCRAM-SHA-512")
    first = request_type(SASL_AUTHENTICATE, 2)(auth_bytes=f"n,,n=somebody,r={_NONCE}".encode())
    for body in (handshake, first):
        client.sendall(framed(write_request(body, 1, "hoarder")))
        size = int.from_bytes(client.recv(4), "big")
        while size:
            size -= len(client.recv(size))
    client.sendall(BEFORE_LOGIN_BYTES.to_bytes(4, "big") + bytes(BEFORE_LOGIN_BYTES - 1))
    return client

"""TLS with limits: everything that OpenSSL accepts passes, and no overlong message reaches it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from metalog.wire.frames import Malformed
from metalog_node.net.tls_stream import MOST_MESSAGE_BYTES, Encrypted
from tests.support.node.certificates import Certified, certified

SIZE = 1 << 20
CHANGE_CIPHER_SPEC = b"\x14\3\3\0\1\1"
Serve = Callable[[Encrypted], Awaitable[None]]


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    return certified(tmp_path_factory.mktemp("tls"), "/CN=node")


def server_side(identity: Certified) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.identity)
    return context


def client_side(authority: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority)
    return context


async def served(
    context: ssl.SSLContext, serve: Serve, visit: Callable[[int], Awaitable[None]]
) -> None:
    """Calls ``visit`` with the port; raises what ``serve`` raises."""
    served: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(Encrypted(context, reader, writer, at_once))
            served.set_result(None)
        except Exception as error:
            served.set_exception(error)
        finally:
            writer.close()

    listening = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with listening:
        await visit(listening.sockets[0].getsockname()[1])
        await served


async def at_once(work: Callable[..., Any], *arguments: Any) -> Any:
    return work(*arguments)


def limited(context: ssl.SSLContext, version: ssl.TLSVersion) -> ssl.SSLContext:
    context.maximum_version = version
    return context


def retrying(context: ssl.SSLContext) -> ssl.SSLContext:
    """Its key exchange is one that no client begins with."""
    context.set_ecdh_curve("secp384r1")
    return context


def asking(context: ssl.SSLContext, identity: Certified) -> ssl.SSLContext:
    context.load_verify_locations(identity.authority)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


@pytest.mark.parametrize(
    ("version", "is_retried"),
    [
        (ssl.TLSVersion.TLSv1_2, False),
        (ssl.TLSVersion.TLSv1_3, False),
        (ssl.TLSVersion.TLSv1_3, True),
    ],
)
def test_what_is_meant_goes_both_ways(
    identity: Certified, version: ssl.TLSVersion, is_retried: bool
) -> None:
    """With certificates on both sides, in parts of any size, until the client ends the session."""
    context = asking(limited(server_side(identity), version), identity)
    client = client_side(identity.authority)
    client.load_cert_chain(identity.identity)

    async def echo(stream: Encrypted) -> None:
        await stream.handshake()
        assert stream.get_extra_info("ssl_object").getpeercert(binary_form=True)
        received = b""
        while len(received) < SIZE:
            received += await stream.read(4096)
        stream.write(received)
        await stream.drain()
        assert await stream.read(4096) == b""
        stream.close()

    async def visit(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client)
        sent = bytes(range(256)) * (SIZE // 256)
        writer.write(sent)
        assert await reader.readexactly(SIZE) == sent
        writer.close()

    asyncio.run(served(retrying(context) if is_retried else context, echo, visit))


def test_a_second_hello_is_measured_too(identity: Certified) -> None:
    """After a retry, and behind the message that TLS 1.3 ignores."""
    hello = MOST_MESSAGE_BYTES + 1
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_side(identity.authority).wrap_bio(
        incoming, outgoing, server_hostname="127.0.0.1"
    )
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()

    async def visit(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        announced = b"\x16\3\3\0\4\1" + hello.to_bytes(3, "big")
        writer.write(outgoing.read() + CHANGE_CIPHER_SPEC + announced)
        while await reader.read(SIZE):
            continue
        writer.close()

    with pytest.raises(Malformed, match=f"a message of {hello} bytes"):
        asyncio.run(served(retrying(server_side(identity)), Encrypted.handshake, visit))


def test_who_hangs_up_in_the_middle_is_gone(identity: Certified) -> None:
    async def visit(port: int) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"\x16\3\1\1\0\1\0")
        writer.close()

    with pytest.raises(ConnectionResetError):
        asyncio.run(served(server_side(identity), Encrypted.handshake, visit))

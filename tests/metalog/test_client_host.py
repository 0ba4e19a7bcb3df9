"""A client's host is the text of Java's InetAddress.getHostAddress."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest

from metalog.errors import InvalidRequest
from metalog.hosts.client_host import client_host, host_text, java_text, peer_host


@pytest.mark.parametrize(
    ("host", "java"),
    [
        ("::1", "0:0:0:0:0:0:0:1"),
        ("0:0:0:0:0:0:0:1", "0:0:0:0:0:0:0:1"),
        ("[::1]", "0:0:0:0:0:0:0:1"),
        ("2001:DB8::00a", "2001:db8:0:0:0:0:0:a"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("::ffff:a00:1%3", None),
        ("::10.0.0.1", "0:0:0:0:0:0:a00:1"),
        ("fe80::1%2", "fe80:0:0:0:0:0:0:1%2"),
        ("10.0.0.1", "10.0.0.1"),
        ("010.0.0.1", None),
        ("10.0.0.0/8", None),
        ("fd00::/8", None),
        ("localhost", None),
        ("1:2", None),
        (":", None),
        ("", None),
        ("*", None),
    ],
)
def test_the_text_that_java_gives(host: str, java: str | None) -> None:
    assert java_text(host) == java
    assert client_host(host) == (host if java is None else java)


@pytest.mark.parametrize("size", [0, 3, 5, 15, 17])
def test_an_address_has_four_bytes_or_sixteen(size: int) -> None:
    with pytest.raises(InvalidRequest, match=f"4 or 16 bytes, not {size}"):
        host_text(bytes(size))


def test_bytes_are_written_as_text_is() -> None:
    for address in ("10.0.0.1", "::1", "2001:db8::ff00:42:8329", "::ffff:10.0.0.1"):
        assert host_text(ip_address(address).packed) == client_host(address)


@pytest.mark.parametrize(
    ("peer", "host"),
    [
        (("10.0.0.9", 4711), "10.0.0.9"),
        (("::ffff:10.0.0.9", 4711, 0, 0), "10.0.0.9"),
        (("::1", 4711, 0, 0), "0:0:0:0:0:0:0:1"),
        (("fe80::1", 4711, 0, 4), "fe80:0:0:0:0:0:0:1%4"),
        (("fe80::1%eth0", 4711, 0, 4), "fe80:0:0:0:0:0:0:1%4"),
    ],
)
def test_the_host_of_a_socket(peer: tuple[str | int, ...], host: str) -> None:
    """Java gives an accepted socket's zone as the number of its interface."""
    assert peer_host(peer) == host


@pytest.mark.parametrize("peer", [None, "", "/run/broker.sock", b"\0broker", ()])
def test_a_peer_without_an_address_has_no_host(peer: Any) -> None:
    """A path was read as an address, of which its first letter was the host."""
    with pytest.raises(InvalidRequest, match=r"not an IP socket's getpeername\(\)"):
        peer_host(peer)

"""Hosts in the text of Java's InetAddress.getHostAddress, and addresses as people write them."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from metalog.errors import InvalidRequest
from metalog.wire.hosts import Address, host_text, parse_addresses


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::ff00:42:8329", "2001:db8:0:0:0:ff00:42:8329"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
    ],
)
def test_a_host_is_in_javas_text(address: str, text: str) -> None:
    assert host_text(ip_address(address).packed) == text


def test_addresses() -> None:
    assert parse_addresses("a:9093,[::1]:9094,10.0.0.1:1") == [
        Address("a", 9093),
        Address("::1", 9094),
        Address("10.0.0.1", 1),
    ]
    assert str(Address("::1", 9094)) == "[::1]:9094"


@pytest.mark.parametrize(
    "text", ["", "a", "a:", ":1", "a:0", "a:65536", "a:1,", "a:1/x", "::1:9", "a b:1"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(InvalidRequest, match="is no HOST:PORT"):
        parse_addresses(text)

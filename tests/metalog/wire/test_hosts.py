"""Addresses as people write them."""

from __future__ import annotations

import pytest

from metalog.errors import InvalidRequest
from metalog.hosts.host_port import Address, parse_addresses


def test_addresses() -> None:
    assert parse_addresses("a:9093,[::1]:9094,10.0.0.1:1") == [
        Address("a", 9093),
        Address("::1", 9094),
        Address("10.0.0.1", 1),
    ]
    assert str(Address("::1", 9094)) == "[::1]:9094"


@pytest.mark.parametrize("text", ["", "a", "a:", ":1", "a:1,", "a:1/x", "::1:9", "a b:1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(InvalidRequest, match="is not HOST:PORT"):
        parse_addresses(text)


@pytest.mark.parametrize("text", ["a:0", "a:65536"])
def test_what_is_no_port(text: str) -> None:
    with pytest.raises(InvalidRequest, match="the port is not between 1 and 65535"):
        parse_addresses(text)

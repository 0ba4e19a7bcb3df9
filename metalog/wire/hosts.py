"""Addresses: a host as Kafka's authorizer sees it, and HOST:PORT as people write it.

This module must not resolve names.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple

from metalog.errors import InvalidRequest

_HOST_PORT: Final = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.%]+)\]|(?P<name>[^\s:/\[\],]+)):(?P<port>\d{1,5})"
)


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_addresses(text: str) -> list[Address]:
    """``HOST:PORT[,HOST:PORT]``, an IPv6 address in brackets; ``InvalidRequest`` otherwise."""
    return [_address(part) for part in text.split(",")]


def _address(text: str) -> Address:
    match = _HOST_PORT.fullmatch(text)
    if match is None or not 0 < int(match["port"]) < 1 << 16:
        raise InvalidRequest(f"{text!r} is no HOST:PORT")
    return Address(match["v6"] or match["name"], int(match["port"]))


def host_text(packed: bytes) -> str:
    """An address of 4 or 16 bytes in Java's text: no ``::``, and IPv4 where it is mapped."""
    if len(packed) == 4:
        return str(IPv4Address(packed))
    if len(packed) != 16:
        raise InvalidRequest(f"an address of {len(packed)} bytes; 4 or 16 are one")
    mapped = IPv6Address(packed).ipv4_mapped
    if mapped is not None:
        return str(mapped)
    groups = (packed[at : at + 2] for at in range(0, 16, 2))
    return ":".join(f"{int.from_bytes(group, 'big'):x}" for group in groups)

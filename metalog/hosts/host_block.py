"""Reads an ACL's host that is a CIDR block (KIP-1276), as Kafka 4.4 reads it.

Kafka reads an IPv4 block with a regular expression, and an IPv6 block with Java's
``InetAddress.getByName`` and ``Integer.parseInt``. This module accepts the same texts, except host
names and zones that name an interface. A zone that is a number has no effect. This module must not
know ACLs, nor resolve names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

IPV4_BITS: Final = 32
IPV6_BITS: Final = 128

_IPV4: Final = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:/(\d{1,2}))?", re.ASCII)
_HEX_GROUP: Final = re.compile("0*[0-9A-Fa-f]{1,4}")
_DOTTED: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)\.(\d+)", re.ASCII)
_LONGEST_DOTTED: Final = 15
_GROUPS: Final = 8
_LARGEST_INT: Final = 2**31 - 1
_ZONE: Final = re.compile("0*[0-9]{1,10}")
_MAPPED: Final = 0xFFFF
"""The upper 96 bits of an IPv4-mapped address. Java reads such an address as IPv4."""
_CACHE_SIZE: Final = 1 << 12


class HostBlock(NamedTuple):
    """All addresses of ``bits`` bits whose first ``length`` bits are ``network``.

    ``network`` has no other bits, so equal blocks are equal tuples.
    """

    bits: int
    length: int
    network: int

    def contains(self, address: ClientAddress) -> bool:
        bits, value = address
        return bits == self.bits and value >> (bits - self.length) == self.network

    @property
    def first(self) -> ClientAddress:
        return ClientAddress(self.bits, self.network << (self.bits - self.length))

    @property
    def last(self) -> ClientAddress:
        host_bits = self.bits - self.length
        return ClientAddress(self.bits, (self.network + 1 << host_bits) - 1)


class ClientAddress(NamedTuple):
    """A client's address as a number of 32 or 128 ``bits``."""

    bits: int
    value: int


def host_block(host: str) -> HostBlock | None:
    """``host`` as a block; None if Kafka compares ``host`` as plain text."""
    if "/" not in host:
        return None
    block = read_block(host)
    return block if isinstance(block, HostBlock) else None


def has_block(hosts: Iterable[str]) -> bool:
    return any(host_block(host) is not None for host in set(hosts))


@lru_cache(_CACHE_SIZE)
def read_block(host: str) -> HostBlock | str:
    """``host``, which has a slash, as a block; or Kafka's error message."""
    return _ipv6_block(host) if ":" in host else _ipv4_block(host)


@lru_cache(_CACHE_SIZE)
def client_address(host: str) -> ClientAddress | None:
    """The client's address in ``host``, which has Java's spelling.

    None if ``host`` is not an address, or is 0.0.0.0, which Kafka finds in no block.
    """
    if ":" in host:
        value = _ipv6_value(host)
        if value is None or value >> IPV4_BITS == _MAPPED:
            return None
        return ClientAddress(IPV6_BITS, value)
    found = _IPV4.fullmatch(host)
    if found is None or found[5] is not None:
        return None
    octets = list(map(int, found.groups()[:4]))
    value = int.from_bytes(octets, "big") if max(octets) <= 255 else 0
    return ClientAddress(IPV4_BITS, value) if value else None


def _ipv4_block(host: str) -> HostBlock | str:
    found = _IPV4.fullmatch(host)
    if found is None or found[5] is None:
        return f"Could not parse [{host}]"
    *octets, length = map(int, found.groups())
    for octet in octets:
        if octet > 255:
            return f"Value [{octet}] not in range [0,255]"
    if length > IPV4_BITS:
        return f"Value [{length}] not in range [0,{IPV4_BITS}]"
    return HostBlock(IPV4_BITS, length, int.from_bytes(octets, "big") >> (IPV4_BITS - length))


def _ipv6_block(host: str) -> HostBlock | str:
    address, _, number = host.partition("/")
    length = _java_int(number)
    if length is None:
        return f"Could not parse [{host}] - invalid prefix length"
    if not 0 <= length <= IPV6_BITS:
        return f"Could not parse [{host}] - prefix length must be between 0 and {IPV6_BITS}"
    value = _ipv6_value(address)
    if value is None:
        return f"Could not parse [{address}]"
    if value >> IPV4_BITS == _MAPPED:
        return f"Could not parse [{address}] - not an IPv6 address"
    return HostBlock(IPV6_BITS, length, value >> (IPV6_BITS - length))


def _java_int(text: str) -> int | None:
    """``text`` as ``Integer.parseInt`` reads it: an optional sign, and digits of any script."""
    from unicodedata import decimal  # rarely needed

    unsigned = text[1:] if text[:1] in ("+", "-") else text
    digits = [decimal(digit, None) if digit <= "\uffff" else None for digit in unsigned]
    if not digits:
        return None
    value = 0
    for digit in digits:
        if digit is None:
            return None
        value = min(value * 10 + digit, _LARGEST_INT + 2)
    value = -value if text.startswith("-") else value
    return value if -_LARGEST_INT - 1 <= value <= _LARGEST_INT else None


def _ipv6_value(text: str) -> int | None:
    """The IPv6 address that ``InetAddress.getByName`` reads in ``text``, or None.

    An IPv4-mapped address keeps all 128 bits. Java refuses a zone in an IPv4-mapped address.
    """
    if text.startswith("["):
        if len(text) <= 2 or not text.endswith("]"):
            return None
        text = text[1:-1]
    address, percent, zone = text.partition("%")
    value = _value_of_groups(address)
    if value is None or not percent:
        return value
    is_numeric = _ZONE.fullmatch(zone) is not None and int(zone) <= _LARGEST_INT
    return value if is_numeric and value >> IPV4_BITS != _MAPPED else None


def _value_of_groups(address: str) -> int | None:
    left, gap, right = address.partition("::")
    head = _groups(left, is_end=not gap)
    tail = _groups(right, is_end=True) if gap else []
    if head is None or tail is None:
        return None
    missing = _GROUPS - len(head) - len(tail)
    if missing < 1 if gap else missing != 0:
        return None
    value = 0
    for group in (*head, *[0] * missing, *tail):
        value = value << 16 | group
    return value


def _groups(text: str, *, is_end: bool) -> list[int] | None:
    """The 16-bit groups of ``text``. The end of an address can be in IPv4 form (two groups)."""
    if not text:
        return []
    *groups, last = text.split(":")
    dotted = _dotted(last) if is_end and "." in last else None
    if dotted is None:
        groups.append(last)
    if not all(map(_HEX_GROUP.fullmatch, groups)):
        return None
    values = [int(group, 16) for group in groups]
    return values if dotted is None else [*values, dotted >> 16, dotted & 0xFFFF]


def _dotted(text: str) -> int | None:
    found = _DOTTED.fullmatch(text) if len(text) <= _LONGEST_DOTTED else None
    octets = [] if found is None else list(map(int, found.groups()))
    return int.from_bytes(octets, "big") if octets and max(octets) <= 255 else None

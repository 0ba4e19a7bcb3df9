"""Writes a client's host as Java's ``InetAddress.getHostAddress`` does.

Kafka compares an ACL's host with this text, so decisions use it, too. Java writes IPv6 in
lower-case hex, without leading zeros and without ``::``. A zone follows ``%``. An IPv4-mapped
address becomes IPv4. This module must not resolve names.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from metalog.errors import InvalidRequest

_CACHE_SIZE: Final = 1 << 12


def client_host(host: str) -> str:
    """``host`` as Java writes it; a text that is not an address stays as it is.

    Only IPv6 addresses have several spellings.
    """
    return _client_host(host) if ":" in host else host


@lru_cache(_CACHE_SIZE)
def _client_host(host: str) -> str:
    return java_text(host) or host


def java_text(host: str) -> str | None:
    """``host``, with or without brackets, as Java writes it; None if ``host`` is not an address."""
    from ipaddress import IPv4Address, ip_address  # most decisions do not need it

    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    try:
        address = ip_address(host)
    except ValueError:
        return None
    text = host_text(address.packed)
    if isinstance(address, IPv4Address) or not address.scope_id:
        return text
    return f"{text}%{address.scope_id}" if ":" in text else None  # Java has no zones in IPv4


def host_text(packed: bytes) -> str:
    """The text of an address of 4 or 16 bytes; ``InvalidRequest`` for any other length."""
    if len(packed) == 16 and packed[:12] == _MAPPED:
        packed = packed[12:]
    if len(packed) == 4:
        return ".".join([str(byte) for byte in packed])
    if len(packed) != 16:
        raise InvalidRequest(f"an address has 4 or 16 bytes, not {len(packed)}")
    return ":".join([f"{packed[at] << 8 | packed[at + 1]:x}" for at in range(0, 16, 2)])


_MAPPED: Final = bytes(10) + b"\xff\xff"


def peer_host(peer: Sequence[Any]) -> str:
    """The host of a socket's ``getpeername()``, or of asyncio's ``peername``.

    Java writes the zone of a link-local address as the number of the interface. Raises
    ``InvalidRequest`` if ``peer`` is not an IP socket's tuple.
    """
    if not peer or isinstance(peer, str | bytes):
        raise InvalidRequest(
            f"peer {peer!r}: not an IP socket's getpeername(); asyncio has None for a client that"
            " has disconnected, and a Unix socket has a path: give RequestContext a host"
        )
    host, zone = str(peer[0]).partition("%")[0], peer[3] if len(peer) > 3 else 0
    return client_host(f"{host}%{zone}" if zone else host)

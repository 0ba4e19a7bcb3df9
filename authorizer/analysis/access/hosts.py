"""Compares hosts as Kafka does: as Java's text of an address; with 4.4, also by CIDR block.

This module must not know names or principals.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from authorizer.analysis.access.host_regions import host_regions, is_matchable
from authorizer.analysis.explain.kinds import NearMissKind
from authorizer.kafka_version import KafkaVersion
from authorizer.trace import Attribute, Trace, is_allow
from metalog.acl import WILDCARD, Acl
from metalog.grouping import grouped
from metalog.hosts.client_host import java_text
from metalog.hosts.host_block import IPV4_BITS, HostBlock, client_address, host_block

IPAddress = IPv4Address | IPv6Address


class HostAnswer(NamedTuple):
    """``acl`` decides for ``host``. The decision for the next wider region is the opposite."""

    host: str
    allowed: bool
    acl: Acl


def host_kind(other: str, client_host: str | None, kafka: KafkaVersion) -> NearMissKind | None:
    """How ``other``, the host of an ACL that does not match, differs from ``client_host``.

    Without ``client_host``, the result is None if a client can match ``other``.
    """
    if client_host is None:
        return _never_kind(other, kafka)
    if other.strip() == client_host.strip():
        return NearMissKind.HOST_BLANK
    block, client = host_block(other) if kafka.matches_blocks else None, client_address(client_host)
    if block is not None:
        larger = HostBlock(block.bits, block.length - 1, block.network >> 1)
        is_near = client is not None and block.length > 0 and larger.contains(client)
        return NearMissKind.HOST_BLOCK_ONE_OFF if is_near else NearMissKind.HOST
    in_acl, of_client = _address(other), _address(client_host)
    if of_client is None:
        return NearMissKind.HOST
    if in_acl is None:
        return _text_kind(other, of_client, kafka)
    return _address_kind(in_acl, of_client)


def changing_hosts(traced: Trace, kafka: KafkaVersion) -> tuple[HostAnswer, ...]:
    """The hosts in ACLs whose decision differs from the decision for the next wider region.

    ``traced`` is the decision without a host.
    """
    host_misses = (each.acl for each in traced.candidates if each.mismatches == (Attribute.HOST,))
    named = grouped(enumerate(host_misses), lambda placed: placed[1].host)
    if traced.decision.acl is not None and not traced.allowed:
        return ()
    answers = []
    allowed: dict[str | None, bool] = {None: traced.allowed}
    for region in host_regions(named, kafka):
        acls = [acl for _, acl in sorted(each for host in region.matching for each in named[host])]
        denies = [acl for acl in acls if not is_allow(acl)]
        is_allowed = allowed[region.host] = not denies
        if is_allowed is not allowed[region.around]:
            by = acls[-1] if is_allowed else denies[0]
            answers.append(HostAnswer(region.host, is_allowed, by))
    return tuple(answers)


def smallest_block(hosts: Iterable[str], client: str) -> str | None:
    """The smallest CIDR block among ``hosts`` that contains ``client``."""
    address = client_address(client)
    holding = [
        (-block.length, host)
        for host in hosts
        if (block := host_block(host)) is not None
        and address is not None
        and block.contains(address)
    ]
    return min(holding)[1] if holding else None


def same_size_block(host: str, client: str) -> str | None:
    """The CIDR block that contains ``client`` and has the size of the block ``host``."""
    block, address = host_block(host), client_address(client)
    if block is None or address is None or block.bits != address.bits:
        return None
    network = IPv4Network if block.bits == IPV4_BITS else IPv6Network
    return str(network((address.value, block.length), strict=False))


def meant_block(host: str) -> str | None:
    """The CIDR block that ``host`` means, if ``host`` is a range in another form; else None.

    Other forms are ``10.0.*.*``, ``10.0.0.0/255.0.0.0``, IPv4 written as IPv6, and blanks around a
    block.
    """
    text = host.strip()
    if "/" not in text:
        numbers = text.rstrip(".").split(".")
        known = [number for number in numbers if number != WILDCARD]
        stars_are_last = numbers[len(known) :] == [WILDCARD] * (len(numbers) - len(known))
        if not stars_are_last or len(numbers) > 4 or not 1 <= len(known) <= 3:
            return None
        text = f"{'.'.join([*known, *['0'] * (4 - len(known))])}/{8 * len(known)}"
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        return None
    mapped = isinstance(network, IPv6Network) and network.network_address.ipv4_mapped
    block = f"{mapped}/{network.prefixlen - 96}" if mapped else str(network)
    return block if block != host and host_block(block) is not None else None


def _address(host: str) -> IPAddress | None:
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    try:
        return ip_address(host)
    except ValueError:
        return None


def _unmapped(address: IPAddress) -> IPAddress:
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _address_kind(in_acl: IPAddress, of_client: IPAddress) -> NearMissKind:
    if in_acl == of_client:
        return NearMissKind.HOST_TEXT
    if in_acl.packed == of_client.packed:
        return NearMissKind.HOST_SCOPE
    in_acl, of_client = _unmapped(in_acl), _unmapped(of_client)
    if in_acl == of_client or (
        in_acl.is_loopback and of_client.is_loopback and in_acl.version != of_client.version
    ):
        return NearMissKind.HOST_FAMILY
    return NearMissKind.HOST


def _text_kind(other: str, client: IPAddress, kafka: KafkaVersion) -> NearMissKind:
    network = _network(other)
    if (network is not None and _unmapped(client) in network) or (
        WILDCARD in other and fnmatchcase(str(_unmapped(client)), other)
    ):
        return NearMissKind.HOST_RANGE
    if _never_kind(other, kafka) is NearMissKind.HOST_NAME:
        return NearMissKind.HOST_NAME
    return NearMissKind.HOST


def _network(host: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(host.strip(), strict=False) if "/" in host else None
    except ValueError:
        return None


def _never_kind(host: str, kafka: KafkaVersion) -> NearMissKind | None:
    """Why no client can have ``host``; None if a client can."""
    if is_matchable(host, kafka):
        return None
    if is_matchable(host.strip(), kafka):
        return NearMissKind.HOST_BLANK
    if java_text(host) is not None:
        return NearMissKind.HOST_TEXT
    first, dash, _ = host.partition("-")
    is_range = _network(host) is not None or (dash != "" and _address(first.strip()) is not None)
    return NearMissKind.HOST_RANGE if is_range or WILDCARD in host else NearMissKind.HOST_NAME

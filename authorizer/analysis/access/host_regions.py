"""Divides clients into regions: all clients of a region match the same hosts of ACLs.

An address in an ACL is a region if the address is written as Java writes it. The region of a CIDR
block is the block without the narrower blocks and addresses in ACLs. An IPv6 block matches clients
with any zone (``fe80:0:0:0:0:0:0:1%2``), but an address matches only the same text. So addresses
never cover a whole IPv6 block. This module must not know what the ACLs of a region decide.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import lru_cache
from itertools import count
from typing import Final, NamedTuple

from authorizer.engine.host_blocks import HostBlocks
from authorizer.kafka_version import KafkaVersion
from metalog.acl import WILDCARD
from metalog.hosts.client_host import host_text, java_text
from metalog.hosts.host_block import IPV4_BITS, IPV6_BITS, HostBlock, client_address, host_block

Span = tuple[int, int]
"""The first and the last address, as numbers."""
_IN_NO_BLOCK: Final = {
    IPV4_BITS: (0, 0),
    IPV6_BITS: (0xFFFF << IPV4_BITS, (0xFFFF << IPV4_BITS) + (1 << IPV4_BITS) - 1),
}
"""Addresses that Kafka finds in no block: 0.0.0.0, and IPv6 addresses that Java takes as IPv4."""


class HostRegion(NamedTuple):
    """A set of clients that match the same hosts of ACLs.

    ``host`` is the narrowest of these hosts. ``matching`` has all these hosts except ``*``.
    ``client`` is the address of one client. ``around`` is the ``host`` of the next wider region;
    None stands for all clients that no ACL names.
    """

    host: str
    matching: frozenset[str]
    client: str
    around: str | None


@lru_cache(1 << 14)
def can_be_a_client(host: str) -> bool:
    return java_text(host) == host


def host_regions(hosts: Iterable[str], kafka: KafkaVersion) -> list[HostRegion]:
    """The regions of ``hosts``. Each region comes after the next wider region.

    A block that narrower hosts cover has no region.
    """
    return list(_regions(tuple(dict.fromkeys(hosts)), kafka))


class MeetingHosts:
    """Finds which of ``hosts`` overlap or contain a host."""

    def __init__(self, hosts: Iterable[str], kafka: KafkaVersion) -> None:
        named = frozenset(hosts)
        self._blocks = HostBlocks.of(named if kafka.matches_blocks else ())
        self._meeting: dict[str, set[str]] = {}
        if any(self._blocks):
            for region in host_regions(sorted(named), kafka):
                for host in region.matching:
                    self._meeting.setdefault(host, set()).update(region.matching)

    def meeting(self, host: str) -> set[str]:
        """``host`` and the other hosts except ``*`` that share a client with ``host``.

        ``host`` must be one of ``hosts``. The result for ``*`` is only ``*``.
        """
        return {host, *self._meeting.get(host, ())}

    def around(self, host: str) -> list[str]:
        """The blocks that match every client of ``host``."""
        block, address = host_block(host), client_address(host)
        if block is not None:
            return self._blocks.around(block)
        return [] if address is None else self._blocks.containing(address)


@lru_cache(1 << 14)
def hosts_meet(one: str, other: str, kafka: KafkaVersion) -> bool:
    """Whether some client matches both hosts."""
    named = {one, other} - {WILDCARD}
    regions = host_regions(sorted(named), kafka)
    return not named or any(named <= region.matching for region in regions)


def is_matchable(host: str, kafka: KafkaVersion) -> bool:
    """Whether some client matches ``host``, which must not be ``*``."""
    return can_be_a_client(host) or (kafka.matches_blocks and bool(host_regions([host], kafka)))


@lru_cache(64)
def _regions(hosts: tuple[str, ...], kafka: KafkaVersion) -> tuple[HostRegion, ...]:
    blocks = HostBlocks.of(hosts if kafka.matches_blocks else ())
    places = {host: place for place, host in enumerate(hosts)}
    by_block: dict[HostBlock, str] = {}
    for host in hosts:
        block = host_block(host) if kafka.matches_blocks else None
        if block is not None:
            by_block.setdefault(block, host)
    inside: dict[HostBlock, list[Span]] = {block: [] for block in by_block}
    addresses: dict[HostBlock, list[Span]] = {block: [] for block in by_block}
    found: list[HostRegion] = []
    for host in hosts:
        if host == WILDCARD or not can_be_a_client(host):
            continue
        address = client_address(host)
        narrowest = None if address is None else blocks.narrowest(address)
        if address is not None and narrowest is not None and "%" not in host:
            addresses[narrowest].append((address.value, address.value))
        matching = () if address is None else blocks.containing(address)
        around = None if narrowest is None else by_block[narrowest]
        found.append(HostRegion(host, frozenset((host, *matching)), host, around))
    covered: dict[str, str | None] = {}
    for block, host in sorted(by_block.items(), reverse=True):  # narrow blocks first
        outer = blocks.next_around(block)
        around = None if outer is None else by_block[outer]
        if outer is not None:
            inside[outer].append((block.first.value, block.last.value))
        client = _client_of(block, inside[block], addresses[block], places)
        if client is None:
            covered[host] = around
            continue
        found.append(HostRegion(host, frozenset(blocks.around(block)), client, around))
    found = [_past_covered(region, covered) for region in found]
    return tuple(sorted(found, key=lambda each: (len(each.matching), places[each.host])))


def _client_of(
    block: HostBlock, inside: Iterable[Span], addresses: Iterable[Span], hosts: Container[str]
) -> str | None:
    """A client of ``block`` that no narrower host matches, without a zone if possible."""
    span = block.first.value, block.last.value
    taken = [*inside, _IN_NO_BLOCK[block.bits]]
    value = _outside(span, [*taken, *addresses])
    if value is not None:
        return host_text(value.to_bytes(block.bits // 8, "big"))
    value = _outside(span, taken) if block.bits == IPV6_BITS else None
    if value is None:
        return None
    address = host_text(value.to_bytes(block.bits // 8, "big"))
    zoned = (f"{address}%{zone}" for zone in count(1))
    return next(client for client in zoned if client not in hosts)


def _past_covered(region: HostRegion, covered: dict[str, str | None]) -> HostRegion:
    around = region.around
    while around in covered:
        around = covered[around]
    return region._replace(around=around)


def _outside(span: Span, taken: Iterable[Span]) -> int | None:
    """The first number of ``span`` that is in no range of ``taken``."""
    free, last = span
    for begin, end in sorted(taken):
        if begin > free:
            break
        free = max(free, end + 1)
    return free if free <= last else None

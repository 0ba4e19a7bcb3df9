"""Divides client addresses into classes: the same hosts of ACLs match all addresses of a class.

A class is one address, a CIDR block without the narrower hosts in it, or all unnamed addresses.
This module must not know names, principals or decisions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from authorizer.analysis.access.host_regions import can_be_a_client, host_regions
from authorizer.engine.host_blocks import HostBlocks
from authorizer.kafka_version import KafkaVersion
from metalog.acl import WILDCARD
from metalog.hosts.client_host import host_text
from metalog.hosts.host_block import client_address

_PLAIN: Final = ("10.0.0.1", "192.168.0.1", "172.16.0.1", "2001:db8:0:0:0:0:0:1")
_MOST_KEPT: Final = 100_000
"""The most classes of clients in the cache (approximately 60 MB)."""
_EVERY_BLOCK: Final = ("0.0.0.0/0", "::/0")


class HostSet(NamedTuple):
    """The clients of ``hosts`` (addresses and blocks); if ``is_excluded``, all other clients."""

    hosts: frozenset[str] = frozenset()
    is_excluded: bool = True

    def holds(self, matching: Collection[str]) -> bool:
        """Whether this set has the clients that match exactly the named hosts ``matching``."""
        return self.hosts.isdisjoint(matching) is self.is_excluded


ANY_HOST: Final = HostSet()


class ClientClass(NamedTuple):
    """The clients that match the hosts ``matching``, and no other host of the ACLs.

    ``host`` is the narrowest of these hosts, or None. ``client`` is the address of one client.
    ``around`` is a client of the next wider class. ``own_hosts`` has the hosts in ``matching`` that
    do not match the next wider class. ``around`` and ``own_hosts`` are None if that class is not
    requested, or if one of these hosts is in ``separate`` of ``ClientClasses``.
    """

    host: str | None
    matching: frozenset[str]
    client: str
    own_hosts: frozenset[str] | None = None
    around: str | None = None


class ClientClasses:
    """Divides the ``requested`` clients into classes by the hosts of ACLs.

    Each host in ``separate`` has its own class.
    """

    def __init__(
        self,
        named: Iterable[str],
        requested: HostSet,
        kafka: KafkaVersion,
        separate: frozenset[str] = frozenset(),
    ) -> None:
        self._matches_blocks = kafka.matches_blocks
        self._requested = requested
        self._separate = separate
        known = self._matched(named)
        self._unnamed = _unnamed_client(known)
        self._cache: dict[frozenset[str], list[ClientClass]] = {}
        self._kept = 0

    def by(self, named: Iterable[str]) -> list[ClientClass]:
        """The classes into which the hosts ``named`` divide the clients."""
        hosts = self._matched(named)
        found = self._cache.get(hosts)
        if found is None:
            found = self._divided(hosts)
            self._kept += len(found)
            if self._kept > _MOST_KEPT:
                self._cache, self._kept = {}, len(found)
            self._cache[hosts] = found
        return found

    def _matched(self, named: Iterable[str]) -> frozenset[str]:
        hosts = {
            host
            for host in named
            if host != WILDCARD and (self._matches_blocks if "/" in host else can_be_a_client(host))
        }
        return self._requested.hosts.union(self._separate, hosts)

    def _divided(self, hosts: frozenset[str]) -> list[ClientClass]:
        requested = self._requested
        found: dict[str | None, ClientClass] = {}
        unnamed = self._unnamed or _unnamed_client(hosts)
        if unnamed is not None and requested.holds(()):
            found[None] = ClientClass(None, frozenset(), unnamed)
        regions = host_regions(sorted(hosts), KafkaVersion.V4_4) if hosts else ()
        known = _Hosts(hosts)
        matching = {region.host: region.matching for region in regions}
        for region in regions:
            if requested.holds(region.matching):
                around = region.around
                before: frozenset[str] = frozenset() if around is None else matching[around]
                client = known.plain_client(region.client, region.matching)
                clients = ClientClass(region.host, region.matching, client)
                own = region.matching - before
                if around in found and self._separate.isdisjoint(own):
                    clients = clients._replace(own_hosts=own, around=found[around].client)
                found[region.host] = clients
        return list(found.values())


class _Hosts:
    def __init__(self, hosts: frozenset[str]) -> None:
        self._hosts = hosts
        self._blocks = HostBlocks.of(hosts)

    def matching(self, client: str) -> frozenset[str]:
        address = client_address(client)
        found = [] if address is None else self._blocks.containing(address)
        return self._hosts.intersection({client, *found})

    def plain_client(self, first: str, matching: frozenset[str]) -> str:
        """The address after ``first`` if the same hosts match it, else ``first``.

        ``first`` can be the address of a network.
        """
        address = client_address(first)
        if address is None or first in matching or address.value + 1 >> address.bits:
            return first
        after = host_text((address.value + 1).to_bytes(address.bits // 8, "big"))
        return after if self.matching(after) == matching else first


def _unnamed_client(hosts: frozenset[str]) -> str | None:
    known = _Hosts(hosts)
    for client in _PLAIN:
        if not known.matching(client):
            return client
    for every in _EVERY_BLOCK:
        if every not in hosts:
            for region in host_regions(sorted({*hosts, every}), KafkaVersion.V4_4):
                if region.matching == {every}:
                    return region.client
    return None

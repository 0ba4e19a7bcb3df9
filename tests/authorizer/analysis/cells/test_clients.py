"""Classes of clients against each client of a small world, and Python's own networks."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from random import Random

import pytest

from authorizer.analysis.cells import clients as module
from authorizer.analysis.cells.clients import ANY_HOST, ClientClass, ClientClasses, HostSet
from authorizer.kafka_version import KafkaVersion
from tests.support.worlds.random_worlds import CLIENTS, NARROW, WIDE

HOSTS = ("10.0.0.1", "10.1.0.5", "2001:db8:0:0:0:0:0:1", NARROW, WIDE, "0.0.0.0/0", "2001:db8::/32")
NEVER = ("*", "broker", "10.0.0.0/33", "10.0.0.01")
"""Hosts that divide no clients."""
NEWEST = KafkaVersion.V4_4


def matching(hosts: Iterable[str], client: str) -> frozenset[str]:
    address = ip_address(client)
    return frozenset(
        host
        for host in hosts
        if (address in ip_network(host) if "/" in host else address == ip_address(host))
    )


def test_each_client_has_a_class_with_the_hosts_that_match_it() -> None:
    random = Random(1)
    seen = set()
    for _ in range(80):
        named = random.sample(HOSTS, random.randint(0, 4))
        of_claim = frozenset(random.sample(HOSTS, random.randint(0, 1)))
        requested = HostSet(of_claim, random.random() < 0.6 or not of_claim)
        separate = frozenset(random.sample(HOSTS, random.randint(0, 1)))
        every = {*named, *of_claim, *separate}
        divided = ClientClasses([*named, *NEVER], requested, NEWEST, separate)
        found = divided.by([*named, *NEVER])
        by_hosts = {each.matching: each for each in found}
        assert len(by_hosts) == len(found)
        for each in found:
            assert matching(every, each.client) == each.matching, each
            assert requested.holds(each.matching)
            assert each.host is None or each.host in each.matching
        for client in CLIENTS:
            hosts = matching(every, client)
            assert (hosts in by_hosts) is requested.holds(hosts), (client, named, requested)
        seen |= {check_around(each, found, separate) for each in found}
    assert len(seen) == 2


def check_around(each: ClientClass, found: list[ClientClass], separate: frozenset[str]) -> bool:
    """Whether the class has one that contains it: the one with the most of its hosts."""
    before = found[: found.index(each)]
    wider = [other for other in before if other.matching < each.matching]
    around = max(wider, key=lambda other: len(other.matching), default=None)
    if each.own_hosts is None:
        assert each.around is None
        narrow = frozenset() if around is None else each.matching - around.matching
        assert around is None or len(narrow) > 1 or not separate.isdisjoint(narrow)
        return False
    assert around is not None
    assert each.around == around.client
    assert each.own_hosts == each.matching - around.matching
    assert separate.isdisjoint(each.own_hosts)
    return True


@pytest.mark.parametrize(
    ("hosts", "clients"),
    [
        (["10.0.0.0/8"], ["10.0.0.1"]),
        (["10.0.0.0/8", "10.0.0.1"], ["10.0.0.0", "10.0.0.1"]),
        (["10.0.0.7/32"], ["10.0.0.7"]),
        (["255.255.255.254/31"], ["255.255.255.255"]),
        (["255.255.255.255/32"], ["255.255.255.255"]),
        (["2001:db8::/32"], ["2001:db8:0:0:0:0:0:1"]),
        (["10.0.0.9"], ["10.0.0.9"]),
    ],
)
def test_a_block_is_shown_by_the_address_after_its_networks(
    hosts: list[str], clients: list[str]
) -> None:
    found = ClientClasses(hosts, ANY_HOST, NEWEST).by(hosts)
    assert sorted(each.client for each in found if each.host is not None) == clients


def test_the_client_that_no_acl_names_is_outside_all_of_them() -> None:
    plain = ["10.0.0.1", "192.168.0.1", "172.16.0.1", "2001:db8:0:0:0:0:0:1"]
    for number in range(len(plain) + 1):
        [client] = ClientClasses(plain[:number], ANY_HOST, NEWEST).by(())
        assert client.client not in plain[:number]
        assert client[:2] == (None, frozenset())
    [client] = ClientClasses([*plain, "0.0.0.0/0"], ANY_HOST, NEWEST).by(())
    assert ":" in client.client
    [client] = ClientClasses([*plain, "::/0"], ANY_HOST, NEWEST).by(())
    assert matching([*plain, "::/0"], client.client) == frozenset()


def test_blocks_divide_no_clients_before_kafka_4_4() -> None:
    hosts = ["10.0.0.0/8", "10.0.0.9"]
    found = ClientClasses(hosts, ANY_HOST, KafkaVersion.V4_3).by(hosts)
    assert [each.host for each in found] == [None, "10.0.0.9"]


def test_the_classes_of_the_next_principal_are_kept_up_to_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MOST_KEPT", 4)
    divided = ClientClasses(HOSTS[:3], ANY_HOST, NEWEST)
    first, second = divided.by(HOSTS[:1]), divided.by(HOSTS[1:2])
    assert len(first) == len(second) == 2
    assert divided.by(HOSTS[:1]) is first
    assert divided.by(HOSTS[1:2]) is second
    third = divided.by(HOSTS[2:3])
    assert divided.by(HOSTS[2:3]) is third
    again = divided.by(HOSTS[:1])
    assert again == first
    assert again is not first
    assert divided.by(HOSTS[2:3]) is third
    assert divided.by(HOSTS[1:2]) is not second
    assert divided.by(HOSTS[2:3]) is not third

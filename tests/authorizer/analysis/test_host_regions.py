"""The regions of hosts cover each client once, and in each the same hosts match."""

from __future__ import annotations

import random
from itertools import product

from authorizer.analysis.access.host_regions import (
    HostRegion,
    MeetingHosts,
    host_regions,
    hosts_meet,
)
from authorizer.engine.decide import subject
from authorizer.kafka_version import KafkaVersion

V4_3, V4_4 = KafkaVersion
LENGTHS = (15, 22, 24, 29, 32)


def test_regions_lie_in_each_other_and_have_a_client_of_their_own() -> None:
    hosts = ["*", "10.0.0.0/8", "10.1.0.0/16", "10.1.0.0", "fe80::/10", "10.0.0.0/33", "app"]
    assert [region[:1] + region[2:] for region in host_regions(hosts, V4_4)] == [
        ("10.0.0.0/8", "10.0.0.0", None),
        ("fe80::/10", "fe80:0:0:0:0:0:0:0", None),
        ("10.1.0.0/16", "10.1.0.1", "10.0.0.0/8"),
        ("10.1.0.0", "10.1.0.0", "10.1.0.0/16"),
    ]
    assert [region.host for region in host_regions(hosts, V4_3)] == ["10.1.0.0"]


def test_a_block_without_an_address_of_its_own_has_no_region() -> None:
    halves = ["10.0.0.0/30", "10.0.0.0/31", "10.0.0.2/31", "10.0.0.3"]
    regions = {region.host: region for region in host_regions(halves, V4_4)}
    assert "10.0.0.0/30" not in regions
    assert [regions[host].around for host in halves[1:]] == [None, None, "10.0.0.2/31"]
    assert host_regions(["0.0.0.0/32"], V4_4) == []
    [region] = host_regions(["::fffe:0:0/95", "::fffe:0:0/96"], V4_4)
    assert region.host == "::fffe:0:0/96"  # the rest is IPv4 to Java


def test_in_each_region_just_those_hosts_match_that_it_says() -> None:
    for _ in range(300):
        hosts = [
            f"10.0.{random.randrange(4)}.{random.randrange(8)}/{random.choice(LENGTHS)}"
            for _ in range(random.randrange(9))
        ]
        hosts += [f"10.0.0.{random.randrange(8)}" for _ in range(random.randrange(3))]
        by_host: dict[str | None, HostRegion] = {}
        for region in host_regions(hosts, V4_4):
            client = subject(region.client, kafka=V4_4)
            assert region.matching == {*filter(client.comes_from, hosts)}
            assert region.around is None or region.matching > by_host[region.around].matching
            by_host[region.host] = region


def test_every_ipv6_client_is_in_a_region_whatever_its_zone() -> None:
    """Kafka ignores the zone only where it compares a client with a block. No host names the last
    zone."""
    numbers, zones = [f"fe80:0:0:0:0:0:0:{number}" for number in range(4)], ["", "%1", "%2", "%9"]
    clients = [number + zone for zone in zones for number in numbers]
    blocks = [f"fe80::{number}/{length}" for number in range(4) for length in (126, 127, 128)]
    draws = random.Random(5)
    for _ in range(300):
        named = draws.sample(clients[:12], draws.randrange(12)) + draws.sample(blocks, 3)
        found: dict[frozenset[str], str] = {}
        for client in clients:
            matches = subject(client, kafka=V4_4).comes_from
            found.setdefault(frozenset(filter(matches, named)), client)
        regions = {region.matching: region.client for region in host_regions(named, V4_4)}
        assert regions.keys() == found.keys() - {frozenset()}, named
        for matching, client in regions.items():
            matches = subject(client, kafka=V4_4).comes_from
            assert matching == {*filter(matches, named)}, (named, client)


def test_a_client_without_a_zone_stands_for_a_block_that_has_one() -> None:
    address = "fe80:0:0:0:0:0:0:0"
    witnesses = {
        (): f"{address[:-1]}0",
        (address,): f"{address[:-1]}1",
        (address, f"{address[:-1]}1"): f"{address}%1",
        (address, f"{address[:-1]}1", f"{address}%1"): f"{address}%2",
    }
    for named, client in witnesses.items():
        assert host_regions(["fe80::/127", *named], V4_4)[0].client == client


def test_which_hosts_meet() -> None:
    hosts = ["10.0.0.0/8", "10.1.0.0/16", "10.2.0.1", "11.0.0.1", "x"]
    meeting = MeetingHosts(hosts, V4_4)
    assert meeting.meeting("10.1.0.0/16") == {"10.0.0.0/8", "10.1.0.0/16"}
    assert meeting.meeting("x") == {"x"}
    assert meeting.around("10.2.0.1") == ["10.0.0.0/8"]
    assert MeetingHosts(hosts, V4_3).meeting("10.1.0.0/16") == {"10.1.0.0/16"}


def test_hosts_meet_if_a_client_matches_both() -> None:
    """Kafka finds 0.0.0.0 in no block, and a host that is not as Java writes it has no client."""
    clients = ["0.0.0.0", "0.0.0.1", "10.0.0.1", "10.1.0.1", *(f"0:0:0:0:0:0:0:{n}" for n in "01")]
    hosts = [*clients, "*", "0.0.0.0/0", "0.0.0.0/31", "0.0.0.0/32", "10.0.0.0/8", "10.1.0.0/16"]
    hosts += ["::/0", "::/128", "::", "10.0.0.0/33", "app"]
    for kafka, one, other in product(KafkaVersion, hosts, hosts):
        subjects = [subject(client, kafka=kafka) for client in clients]
        meet = any(who.comes_from(one) and who.comes_from(other) for who in subjects)
        assert hosts_meet(one, other, kafka) is meet, (kafka, one, other)

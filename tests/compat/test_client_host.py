"""Our text of a client's address equals that of Java's InetAddress."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from random import Random

from metalog.hosts.client_host import client_host
from tests.support.kafka.tools import KafkaTools


def spellings(choose: Random) -> list[str]:
    """Addresses as sockets and people write them."""
    long = IPv6Address(choose.getrandbits(128) & choose.getrandbits(128) & choose.getrandbits(128))
    short = IPv4Address(choose.getrandbits(32))
    return [
        str(short),
        str(long),
        long.exploded.upper(),
        f"[{long}]",
        f"::ffff:{short}",
        f"::{short}",
        f"64:ff9b::{short}",
        f"fe80::{choose.getrandbits(16):x}%{choose.randint(1, 99)}",
    ]


def test_a_host_is_in_javas_text(kafka_tools: KafkaTools) -> None:
    by_name = kafka_tools.classes.java.net.InetAddress.getByName
    choose = Random(17)
    asked = [host for _ in range(60) for host in spellings(choose)] + ["::", "::1", "::ffff:0:0"]
    assert {host: client_host(host) for host in asked} == {
        host: by_name(host).getHostAddress() for host in asked
    }

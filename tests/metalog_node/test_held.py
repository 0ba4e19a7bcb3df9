"""The memory that clients cost a node before they log in, measured in a separate process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metalog.hosts.host_port import parse_addresses
from tests.support.disk.written_log import formatted
from tests.support.kafka.cases import REPOSITORY
from tests.support.kafka.tools import free_ports
from tests.support.node import hoarders
from tests.support.node.certificates import certified
from tests.support.node.hoarders import Hoarder, hoarding
from tests.support.node.scraping import scraped
from tests.support.node.served import served
from tests.support.suite.waiting import eventually

CLIENTS, TO_WARM = 200, 5
PATIENT = """
from metalog_node.net import client, server
client._LOGIN_S = server._HANDSHAKE_S = 600.0
"""
"""All clients must be connected at once, however slow the machine."""
PAGE = REPOSITORY / "docs" / "formats" / "node.md"
STATED = re.compile(r"OpenSSL: under (?P<PLAIN>\d+) KiB, over TLS under (?P<TLS>\d+) KiB")


@pytest.mark.once
@pytest.mark.parametrize(
    ("protocol", "hoarder", "bound"),
    [
        ("SASL_PLAINTEXT", hoarders.of_a_login, "PLAIN"),
        ("SASL_SSL", hoarders.of_a_hello, "TLS"),
        ("SASL_SSL", hoarders.of_a_login_over_tls, "TLS"),
    ],
)
def test_who_is_not_known_makes_a_node_hold_no_more_than_the_page_says(
    tmp_path: Path, protocol: str, hoarder: Hoarder, bound: str
) -> None:
    stated = STATED.search(PAGE.read_text())
    assert stated is not None
    [watch] = free_ports(1)
    config = tmp_path / "server.properties"
    config.write_text(
        "process.roles=broker,controller\nnode.id=1\n"
        f"listeners=CLIENT://127.0.0.1:0,CONTROLLER://127.0.0.1:0\n"
        f"listener.security.protocol.map=CLIENT:{protocol},CONTROLLER:PLAINTEXT\n"
        "controller.listener.names=CONTROLLER\n"
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
        f"ssl.keystore.type=PEM\nssl.keystore.location={certified(tmp_path, '/CN=node').identity}\n"
        f"metrics.listener=http://127.0.0.1:{watch}\n"
        f"metadata.log.dir={formatted(tmp_path / 'log')}\n"
    )
    with served("--config", str(config), listeners=2, first=PATIENT) as addresses:
        [address] = parse_addresses(addresses["CLIENT"])
        with hoarding(hoarder, address, TO_WARM):
            before = resident_bytes(watch)
        with hoarding(hoarder, address, CLIENTS):
            assert eventually(lambda: connected(watch) == CLIENTS)
            held = (resident_bytes(watch) - before) / CLIENTS / 1024
    assert held < int(stated[bound]), f"{held:.1f} KiB each"


def connected(watch: int) -> float:
    return scraped(f"127.0.0.1:{watch}")["metalog_connections", "CLIENT"]


def resident_bytes(watch: int) -> float:
    return scraped(f"127.0.0.1:{watch}")["process_resident_memory_bytes", ""]

"""Blocks that were changed one by one are those of all ACLs, and every address finds its own."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from authorizer.engine.host_blocks import HostBlocks
from metalog.hosts.host_block import HostBlock, client_address, host_block

HOSTS = (
    *("10.0.0.0/8", "10.1.2.3/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3/32", "11.0.0.0/8"),
    *("0.0.0.0/0", "::/0", "a00::/8", "2001:db8::/32", "2001:db8::1/128", "*", "10.1.2.3"),
)
CLIENTS = (
    *("10.1.2.3", "10.1.2.4", "11.0.0.1", "12.0.0.1"),
    *("2001:db8:0:0:0:0:0:1", "a00:0:0:0:0:0:0:1"),
)


def _containing(hosts: Counter[str], client: str) -> set[str]:
    address = client_address(client)
    assert address is not None
    blocks = {host: host_block(host) for host in hosts}
    return {host for host, block in blocks.items() if block is not None and block.contains(address)}


def _hold(blocks: HostBlocks, hosts: Counter[str]) -> None:
    at_once = HostBlocks.of(hosts.elements())
    assert blocks.counted() == at_once.counted()
    assert blocks._lengths == at_once._lengths
    for client in CLIENTS:
        address = client_address(client)
        assert address is not None
        expected = _containing(hosts, client)
        assert sorted(blocks.containing(address)) == sorted(expected)
        widths = {block for host in expected if (block := host_block(host)) is not None}
        found: list[HostBlock] = []
        each = blocks.narrowest(address)
        while each is not None:
            found.append(each)
            each = blocks.next_around(each)
        assert found == sorted(widths, key=lambda block: block.length, reverse=True)


@pytest.mark.parametrize("seed", range(20))
def test_after_each_change_every_address_finds_the_blocks_around_it(seed: int) -> None:
    choose = random.Random(seed)
    hosts: Counter[str] = Counter()
    blocks = HostBlocks.of(())
    for _ in range(60):
        before, counted = blocks, blocks.counted()
        host = choose.choice(HOSTS)
        is_added = not hosts[host] or choose.random() < 0.4
        hosts[host] += 1 if is_added else -1
        hosts += Counter()
        blocks = blocks.changed(host, is_added=is_added)
        _hold(blocks, hosts)
        assert before.counted() == counted
    for host in list(hosts.elements()):
        blocks = blocks.changed(host, is_added=False)
    assert list(blocks) == []


def test_the_last_block_of_a_length_leaves_the_others_of_it_findable() -> None:
    """Two networks of one length: the one that stays is still found when the other goes."""
    hosts = Counter(["10.0.0.0/8", "11.0.0.0/8", "12.0.0.0/8"])
    blocks = HostBlocks.of(())
    for host in hosts:
        blocks = blocks.changed(host, is_added=True)
    for gone in ("10.0.0.0/8", "12.0.0.0/8"):
        blocks = blocks.changed(gone, is_added=False)
        del hosts[gone]
        _hold(blocks, hosts)

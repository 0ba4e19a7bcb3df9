"""A host is a block, and contains a client, if Kafka 4.4.0's CidrUtils says so."""

from __future__ import annotations

import pytest

from metalog.hosts.host_block import (
    ClientAddress,
    HostBlock,
    client_address,
    has_block,
    host_block,
    read_block,
)

NOT_BLOCKS = """
0010.0.0.0/8 10.0.0.0/99 10.0.0.0/100 10.0.0.0/-1 10.0.0.0/+8 256.0.0.0/8 10.0.0/8 10/8
10.0.0.0/ /8 / 10.0.0.0//8 10.0.0.0/8/8 10.0.0.0/255.0.0.0 10.0.0.*/24 */0 localhost/8
0x0a.0.0.0/8 [10.0.0.0]/8 \uff11\uff10.0.0.0/8 10.0.0.0/\uff18
12001:db8::/32 1::2::3/64 :::/0 2001:db8/32 2001:db8:/32 1:2:3:4:5:6:7:8:9/64
::1:2:3:4:5:6:7:8/112 ::1.2.3/128 ::256.0.0.1/128 ::0000000010.0.0.1/128 1.2.3.4::/64
::ffff:0:0/96 0:0:0:0:0:ffff:a00:1/128 [2001:db8::/32 2001:db8::]/32 [2001:db8::/32] []/8:
fe80::1%eth0/64 fe80::1%/64 fe80::1%-1/64 fe80::1%2147483648/64 fe80::1%1]/64
2001:db8::/129 2001:db8::/-1 2001:db8::/ 2001:db8::/32/1 2001:db8::/3.2 2001:db8::/+
2001:db8::/\U0001d7db \uff12001:db8::/32 localhost:1/64 xyz:1/64 ::g/64 /64:
"""


def contains(host: str, client: str) -> bool:
    block, address = host_block(host), client_address(client)
    return block is not None and address is not None and block.contains(address)


@pytest.mark.parametrize(
    ("host", "inside", "outside"),
    [
        ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255"], ["9.255.255.255", "11.0.0.0"]),
        ("10.1.2.3/8", ["10.0.0.0", "10.255.255.255"], ["9.255.255.255", "11.0.0.0"]),
        ("10.0.0.1/32", ["10.0.0.1"], ["10.0.0.0", "10.0.0.2"]),
        ("10.0.0.1/31", ["10.0.0.0", "10.0.0.1"], ["9.255.255.255", "10.0.0.2"]),
        ("1.2.3.4/0", ["0.0.0.1", "255.255.255.255"], ["0.0.0.0", "0:0:0:0:0:0:0:1"]),
        ("0.0.0.0/8", ["0.0.0.1", "0.255.255.255"], ["0.0.0.0", "1.0.0.0"]),
        ("0.0.0.0/32", [], ["0.0.0.0"]),
        ("010.000.000.000/08", ["10.0.0.1"], ["8.0.0.1"]),
        ("2001:DB8::1/32", ["2001:db8:0:0:0:0:0:2"], ["2001:db9:0:0:0:0:0:0", "32.1.13.184"]),
        ("::1/128", ["0:0:0:0:0:0:0:1"], ["0:0:0:0:0:0:0:0", "0.0.0.1"]),
        ("::/128", ["0:0:0:0:0:0:0:0"], ["0:0:0:0:0:0:0:1", "0.0.0.0"]),
        ("::/0", ["ffff:0:0:0:0:0:0:1", "0:0:0:0:0:0:a00:1"], ["10.0.0.1"]),
        ("::10.0.0.0/104", ["0:0:0:0:0:0:a00:1"], ["10.0.0.1"]),
        ("fe80::1%1/64", ["fe80:0:0:0:0:0:0:1%2", "fe80:0:0:0:0:0:0:9"], ["fe80:0:0:1:0:0:0:1"]),
        ("::/0", [], ["fe80:0:0:0:0:0:0:1%no-such-interface", "localhost", "", "a:b"]),
        ("0.0.0.0/0", [], ["256.0.0.1", "10.0.0", "10.0.0.1/32", "*"]),
    ],
)
def test_which_clients_a_block_contains(host: str, inside: list[str], outside: list[str]) -> None:
    assert [client for client in inside if not contains(host, client)] == []
    assert [client for client in outside if contains(host, client)] == []


@pytest.mark.parametrize(
    "spellings",
    [
        ["10.0.0.0/8", "10.1.2.3/8", "10.0.0.0/08", "010.000.000.000/8"],
        ["0.0.0.0/0", "1.2.3.4/0"],
        [
            "2001:db8::/32",
            "2001:0db8:0000:0000:0000:0000:0000:0000/32",
            "00002001:db8::/32",
            "[2001:db8::]/32",
            "2001:db8::%1/32",
            "2001:db8::%2147483647/32",
            "2001:db8::/032",
            "2001:db8::/+32",
            "2001:db8::/0000000000000000032",
            "2001:db8::/\uff13\uff12",
        ],
        ["::/0", "2001:db8::/-0"],
        ["1:2:3:4:5:6:7::/112", "1:2:3:4:5:6:7:0/112"],
        ["::1:2:3:4:5:6:7/112", "0:1:2:3:4:5:6:7/112"],
        ["::010.0.0.1/128", "::a00:1/128"],
        ["64:ff9b::10.0.0.0/104", "64:ff9b::a00:0/104"],
        ["fe80::1%1/64", "[fe80::1%1]/64", "fe80::1%99/64"],
    ],
)
def test_spellings_of_one_block(spellings: list[str]) -> None:
    assert len({host_block(host) for host in spellings}) == 1
    assert host_block(spellings[0]) is not None


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("10.0.0.0/33", "Value [33] not in range [0,32]"),
        ("256.0.0.0/33", "Value [256] not in range [0,255]"),
        ("10.0.0.0/008", "Could not parse [10.0.0.0/008]"),
        ("2001:db8::/x", "Could not parse [2001:db8::/x] - invalid prefix length"),
        (
            "2001:db8::/2147483648",
            "Could not parse [2001:db8::/2147483648] - invalid prefix length",
        ),
        (
            "2001:db8::/2147483647",
            "Could not parse [2001:db8::/2147483647] - prefix length must be between 0 and 128",
        ),
        ("x::/129", "Could not parse [x::/129] - prefix length must be between 0 and 128"),
        ("x::/64", "Could not parse [x::]"),
        ("::ffff:10.0.0.0/104", "Could not parse [::ffff:10.0.0.0] - not an IPv6 address"),
        ("::ffff:10.0.0.0%1/104", "Could not parse [::ffff:10.0.0.0%1]"),
        ("[::ffff:10.0.0.0]/104", "Could not parse [[::ffff:10.0.0.0]] - not an IPv6 address"),
    ],
)
def test_why_a_host_is_not_a_block(host: str, reason: str) -> None:
    assert read_block(host) == reason


def test_texts_that_are_not_blocks() -> None:
    assert [host for host in NOT_BLOCKS.split() if host_block(host)] == []
    assert not has_block(NOT_BLOCKS.split())
    assert has_block([*NOT_BLOCKS.split(), "10.0.0.0/8"])


@pytest.mark.parametrize("blank", [" ", "\t", "\n", "\0"])
@pytest.mark.parametrize("host", ["10.0.0.0/8", "2001:db8::/32"])
def test_a_blank_anywhere_leaves_no_block(host: str, blank: str) -> None:
    spoilt = [host[:place] + blank + host[place:] for place in range(len(host) + 1)]
    assert [text for text in spoilt if host_block(text)] == []


def test_a_text_without_a_slash_is_not_a_block() -> None:
    assert [text for text in ("*", "", "10.0.0.1", "::1", "10.0.0.*") if host_block(text)] == []


@pytest.mark.parametrize("digits", [5_000, 200_000])
def test_a_long_number_is_read_without_being_worked_out(digits: int) -> None:
    assert host_block("::/" + "9" * digits) is None
    assert host_block("::/" + "0" * digits + "8") == HostBlock(128, 8, 0)
    assert host_block("::" + "0" * digits + "1/128") == HostBlock(128, 128, 1)


def test_the_ends_of_a_block() -> None:
    block = host_block("10.1.2.3/8")
    assert block is not None
    assert (block.first, block.last) == (
        ClientAddress(32, 10 << 24),
        ClientAddress(32, (11 << 24) - 1),
    )

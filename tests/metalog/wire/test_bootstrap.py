"""The first usable peer is used, whatever the others do."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest

from metalog.hosts.host_port import Address
from metalog.wire.client.bootstrap import first_connection
from metalog.wire.client.connection import Connection, Unreachable
from metalog.wire.client.security import PLAINTEXT
from metalog.wire.versions import NoCommonVersion
from tests.support.wire.peers import opened, serving

PATIENT = PLAINTEXT._replace(request_timeout_s=60.0, connect_timeout_s=60.0)
HASTY = PLAINTEXT._replace(connect_timeout_s=1.5)

SILENT = (
    "no answer in time: it accepts the connection but does not answer; is it Kafka's port? "
    "If it needs TLS or SASL, set security.protocol "
    "(the command takes it from --command-config FILE)"
)


@contextmanager
def silent() -> Iterator[Address]:
    """Accepts a connection and sends nothing."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        yield Address("127.0.0.1", listener.getsockname()[1])


def dead() -> Address:
    with silent() as address:
        return address


def test_silent_and_dead_peers_do_not_hold_up_those_after_them() -> None:
    """Waiting for each would take a minute."""
    with (
        silent() as first,
        silent() as second,
        serving(opened) as live,
        first_connection([first, dead(), second, live], PATIENT) as connection,
    ):
        assert connection.address == live


def test_ipv6() -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        return
    with closing(listener):
        address = Address("::1", listener.getsockname()[1])
        with pytest.raises(Unreachable) as raised:
            first_connection([address], HASTY)
    assert str(raised.value) == f"[::1]:{address.port}: {SILENT}"


def test_each_is_named_with_what_happened_there() -> None:
    gone, too = dead(), dead()
    with (
        silent() as quiet,
        serving(lambda peer: None) as closing_at_once,
        pytest.raises(Unreachable) as raised,
    ):
        first_connection([quiet, gone, closing_at_once, gone, too], HASTY)
    assert str(raised.value).split("; ") == [
        *f"none of 4 addresses can be used: {quiet}: {SILENT}".split("; "),
        f"{gone}, {too}: connection refused: nothing listens there",
        "check the address and the server",
        f"{closing_at_once}: it closed the connection at our first bytes",
        "it may want TLS or SASL: set security.protocol (the command takes it from "
        "--command-config FILE)",
    ]


def test_a_peer_that_is_not_wanted_is_passed_over() -> None:
    def check(connection: Connection) -> None:
        if connection.address == unwanted:
            raise NoCommonVersion(f"{unwanted} is unwanted")

    with ExitStack() as stack:
        unwanted = stack.enter_context(serving(opened))
        wanted = stack.enter_context(serving(opened))
        with first_connection([unwanted, wanted], PATIENT, check=check) as connection:
            assert connection.address == wanted
    with serving(opened) as unwanted, pytest.raises(NoCommonVersion, match="is unwanted"):
        first_connection([unwanted], PATIENT, check=check)

"""No request blocks the event loop: every API, with the largest hostile bodies, and with bounded
answers (docs/formats/node.md). The rule is 50 ms; the tests measure CPU with wider bounds, for slow
machines."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest

from metalog.acl import Acl
from metalog.hosts.host_port import Address
from metalog.principal import KafkaPrincipal
from metalog.wire.declared.extensions import ENVELOPE
from metalog.wire.envelope import seal
from metalog.wire.frames import framed
from metalog.wire.schema import request_type
from metalog_node.apis import apis_of
from metalog_node.handlers import quotas
from metalog_node.handlers.request import (
    MOST_BYTES_ON_LOOP,
    Answer,
    HandledApi,
    IncomingRequest,
    Services,
)
from metalog_node.net.connection import BEFORE_LOGIN_BYTES
from metalog_node.net.loop_budget import MOST_UNITS
from metalog_node.node import Node
from tests.support.disk.written_log import formatted
from tests.support.node.blocked_loop import ticking
from tests.support.node.running import BOTH_ROLES
from tests.support.node.scraping import probing
from tests.support.wire.hostile_requests import Shape, has_arrays, hostile, request
from tests.support.worlds.small_acls import allow

BY_ITSELF_S, BY_ANY_S = 0.2, 0.4
CREATE_ACLS, API_VERSIONS = 30, 18
BROKERS, CONTROLLERS = apis_of(is_for_controllers=False), apis_of(is_for_controllers=True)
AT_ONCE = 4 << 10
ACLS = 500
A_PIECE = 160
"""Bytes of an answer for each element of a request, without repeated parts."""
MANY, QUOTAS = 5 * MOST_UNITS, quotas.DESCRIBE_QUOTAS
AT_MOST_AT_ONCE = 60
"""Elements."""


def every_api() -> Iterator[tuple[str, int, HandledApi]]:
    """Each API of a node once, with a listener that offers it."""
    yield from (("PLAINTEXT", key, api) for key, api in BROKERS.items())
    yield from (("CONTROLLER", key, CONTROLLERS[key]) for key in CONTROLLERS.keys() - BROKERS)


def data_of(key: int) -> dict[str, bytes]:
    """The largest request inside an Envelope."""
    if key != ENVELOPE:
        return {}
    inner = dict(hostile(CREATE_ACLS, CONTROLLERS[CREATE_ACLS], 3, {}))["many items"]
    address = bytes([127, 0, 0, 1])
    sealed = seal(0, inner, KafkaPrincipal("User", "ANONYMOUS"), address)
    return {
        "request_data": inner,
        "request_principal": sealed.request_principal,
        "client_host_address": address,
    }


def acl(number: int) -> Acl:
    return allow(f"topic-{number}", principal=f"User:{number % 100}")


def sent(address: Address, data: bytes, answers: int) -> int:
    """Sends until so many answers have come, or the node closes; returns the longest answer's
    size."""
    longest = 0
    with socket.create_connection(address, timeout=120) as client:
        try:
            client.sendall(data)
            for _ in range(answers):
                left = int.from_bytes(client.recv(4, socket.MSG_WAITALL), "big")
                longest = max(longest, left)
                while left > 0 and (got := client.recv(min(left, 1 << 20))):
                    left -= len(got)
                if left:
                    break
        except ConnectionError:
            return longest
    return longest


@pytest.mark.once
@pytest.mark.parametrize("super_users", ["User:nobody", "User:ANONYMOUS"])
def test_no_request_of_any_api_holds_the_loop(tmp_path: Path, super_users: str) -> None:
    """For a client without rights, and for one with all rights, which matters only for admitted
    requests. The probes answer meanwhile."""
    formatted(tmp_path)
    properties = {
        "metadata.log.dir": str(tmp_path),
        "super.users": super_users,
        "metrics.listener": "http://127.0.0.1:0",
    }
    held, too_long = {}, {}
    with ticking({**BOTH_ROLES, **properties}) as (node, ticks), probing(node.watch_address):
        node.replica.submit_creations(list(map(acl, range(ACLS)))).result(60)
        for listener, key, api in every_api():
            for what, body in hostile(key, api, api.versions.most, data_of(key)):
                if super_users == "User:ANONYMOUS" and what not in ("short", "many items"):
                    continue
                times = AT_ONCE // (len(body) + 4) if what == "short" else 1
                ticks.take()
                asked = framed(body) * max(times, 1)
                size = sent(node.addresses[listener], asked, max(times, 1))
                held[f"{api.name}: {what}"] = ticks.take()
                if size > 3 * len(body) + A_PIECE * api.most_elements:
                    too_long[f"{api.name}: {what}"] = size / len(body)
    assert not {
        what: each
        for what, each in held.items()
        if each.by_itself > BY_ITSELF_S or each.by_any > BY_ANY_S
    }
    assert super_users == "User:ANONYMOUS" or not too_long


def test_nothing_before_a_login_holds_the_loop(tmp_path: Path) -> None:
    formatted(tmp_path)
    changed = {
        "metadata.log.dir": str(tmp_path),
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    }
    texts = Shape(text=b"\xff" * (BEFORE_LOGIN_BYTES // 4))
    with ticking({**BOTH_ROLES, **changed}) as (node, ticks):
        for body in (
            request(request_type(API_VERSIONS, 4), texts),
            request(request_type(API_VERSIONS, 4), Shape(tags=BEFORE_LOGIN_BYTES // 4)),
            request(request_type(API_VERSIONS, 0), Shape()),
            request(request_type(17, 1), texts),
            request(request_type(36, 2), Shape(data={"auth_bytes": b"n,,n=" + b"\xff" * 8000})),
        ):
            times = max(AT_ONCE // (len(body) + 4), 1)
            ticks.take()
            sent(node.addresses["SASL_PLAINTEXT"], framed(body) * times, times)
            held = ticks.take()
            assert held.by_itself < BY_ITSELF_S
            assert held.by_any < BY_ANY_S


@pytest.mark.parametrize("key", BROKERS.keys() | CONTROLLERS.keys())
def test_what_the_loop_answers_itself_is_about_few_things(key: int) -> None:
    """All clients may each ask that much in one round."""
    api = {**BROKERS, **CONTROLLERS}[key]
    short = MOST_BYTES_ON_LOOP if api.most_bytes_on_loop is None else api.most_bytes_on_loop
    for version in range(api.versions.least, api.versions.most + 1):
        declared = request_type(key, version)
        for many in (Shape(items=AT_MOST_AT_ONCE + 1, text=b""), Shape(tags=AT_MOST_AT_ONCE + 1)):
            if has_arrays(declared) if many.items else declared.__flexible__:
                assert len(request(declared, many)) > short


def test_what_is_authorized_item_by_item_is_never_the_loops_own_work() -> None:
    """For a client without rights: 300 such requests of 118 bytes took more than a second."""
    assert [api.name for api in BROKERS.values() if api.most_bytes_on_loop == 0] == [
        "DescribeUserScramCredentials", "Metadata",
    ]  # fmt: skip


def test_clients_that_are_ready_at_once_are_served_in_several_rounds(tmp_path: Path) -> None:
    """The first one blocks the loop until all others have sent theirs. One measured round may span
    the end of one and the beginning of the next."""
    all_have_sent, api = Event(), quotas.APIS[QUOTAS]
    rounds, served = [0], Counter[int]()

    def begin_round() -> None:
        rounds[0] += 1

    def noting(services: Services, incoming: IncomingRequest) -> Answer:
        assert all_have_sent.wait(30)
        asyncio.get_running_loop().call_soon(begin_round)
        served[rounds[0]] += 1
        return api.handle(services, incoming)

    formatted(tmp_path)
    properties = {**BOTH_ROLES, "metadata.log.dir": str(tmp_path)}
    apis = {QUOTAS: api._replace(handle=noting, most_bytes_on_loop=MOST_BYTES_ON_LOOP)}
    with ExitStack() as stack:
        node, _ = stack.enter_context(ticking(properties, apis))
        clients = [stack.enter_context(connected_to(node)) for _ in range(MANY)]
        for each in clients:
            each.sendall(framed(request(request_type(QUOTAS, 1), Shape())))
        all_have_sent.set()
        for each in clients:
            assert each.recv(4, socket.MSG_WAITALL)
    assert served.total() == MANY
    assert max(served.values()) <= 2 * MOST_UNITS


def connected_to(node: Node) -> socket.socket:
    return socket.create_connection(node.addresses["PLAINTEXT"], timeout=60)


@pytest.mark.parametrize("key", BROKERS)
def test_a_request_that_is_too_long_is_refused_at_its_beginning(
    tmp_path: Path, key: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Its body need not arrive."""
    caplog.set_level("INFO")
    formatted(tmp_path)
    properties = {**BOTH_ROLES, "metadata.log.dir": str(tmp_path)}
    api = BROKERS[key]
    beginning = request(request_type(key, api.versions.most), Shape())[:8]
    with ticking(properties) as (node, _), connected_to(node) as client:
        client.sendall((api.most_bytes + 1).to_bytes(4, "big") + beginning)
        assert client.recv(1) == b""
    assert (
        f"a request of {api.most_bytes + 1} bytes; API {key} takes at most {api.most_bytes}"
        in caplog.text
    )

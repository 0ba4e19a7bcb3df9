"""The cost of one byte of a request, in memory, log lines and CPU, for every API: before the login,
without rights, and with all rights. docs/formats/node.md has the bounds, that of CPU ten times
what was measured; ``test_blocked_loop`` has the time for which the event loop is blocked."""

from __future__ import annotations

import logging
import re
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from time import process_time
from typing import NamedTuple

import pytest

from authorizer import RequestContext, StandardAuthorizer
from metalog.errors import InvalidRequest
from metalog.principal import KafkaPrincipal
from metalog.wire.declared.extensions import ENVELOPE
from metalog.wire.envelope import seal
from metalog.wire.frames import framed
from metalog.wire.messages import UnreadRequest, read_head, write_response
from metalog_node.apis import announced_versions, apis_of
from metalog_node.auth.authentication import MECHANISMS, Logins
from metalog_node.config.listeners import Listener, SecurityProtocol
from metalog_node.handlers.request import (
    DeferredResponse,
    EncodedResponse,
    HandledApi,
    IncomingRequest,
    Services,
    answer,
)
from metalog_node.net.connection import BEFORE_LOGIN_BYTES, ServerConnection
from metalog_node.publish.publishers import CredentialsPublisher
from tests.support.kafka.cases import REPOSITORY
from tests.support.node.answering import services_of
from tests.support.wire.hostile_requests import hostile

LISTENER = Listener("CLIENT", "127.0.0.1", 9092, SecurityProtocol.PLAINTEXT, False)
APIS = {**apis_of(is_for_controllers=True), **apis_of(is_for_controllers=False)}
FEW, MANY = 300, (2_000, 20_000)
CREATE_ACLS = 30


class Cost(NamedTuple):
    memory: int
    log: int


class Bound(NamedTuple):
    memory_a_byte: int
    memory_beside: int
    letters_a_byte: int
    letters_beside: int
    cpu_us_a_byte: int
    cpu_ms_beside: int

    def holds(self, cost: Cost, size: int) -> bool:
        return (
            cost.memory <= self.memory_a_byte * size + self.memory_beside
            and cost.log <= self.letters_a_byte * size + self.letters_beside
        )

    def holds_cpu(self, cpu_s: float, size: int) -> bool:
        return cpu_s * 1e6 <= self.cpu_us_a_byte * size + self.cpu_ms_beside * 1_000


PAGE = (REPOSITORY / "docs" / "formats" / "node.md").read_text()
STATED = re.compile(
    r"(\d+) bytes of memory a byte plus (\d+); "
    r"(\d+) characters in the node's log a byte plus (\d+); "
    r"(\d+) µs of CPU a byte plus (\d+) ms"
)
[_stated] = STATED.findall(PAGE)
BOUND = Bound(*map(int, _stated))


class Letters(logging.Handler):
    written = 0

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith(("kafka.authorizer", "metalog")):
            self.written += len(record.getMessage()) + 1


def small(api: HandledApi, most: int) -> HandledApi:
    return api._replace(most_elements=min(api.most_elements, most))


def bodies(key: int, most: int = FEW) -> Iterator[tuple[str, bytes]]:
    data: dict[str, bytes] = {}
    if key == ENVELOPE:
        inner = dict(hostile(CREATE_ACLS, small(APIS[CREATE_ACLS], most), 3, {}))["many items"]
        sealed = seal(0, inner, KafkaPrincipal("User", "ANONYMOUS"), bytes([127, 0, 0, 1]))
        data = {
            "request_data": inner,
            "request_principal": sealed.request_principal,
            "client_host_address": bytes([127, 0, 0, 1]),
        }
    api = APIS[key]
    for what, body in hostile(key, small(api, most), api.versions.most, data):
        if not what.startswith("too "):
            yield what, body


def answered(services: Services, key: int, body: bytes, principal: str) -> bytes:
    api = APIS[key]
    context = RequestContext(principal, "127.0.0.1", LISTENER.name, api.name)
    unread = UnreadRequest(read_head(body), body, api.most_elements)
    try:
        found = answer(api, services, IncomingRequest(unread, body, context, LISTENER, False))
        if isinstance(found, (Future, DeferredResponse)):
            found = found.result(60)
        if isinstance(found, EncodedResponse):
            return found.payload
        return found if isinstance(found, bytes) else write_response(found, 7)
    except InvalidRequest:
        return b""


@pytest.mark.once
@pytest.mark.parametrize("principal", ["User:stranger", "User:admin"])
def test_a_byte_of_any_request_costs_no_more_than_the_page_says(
    tmp_path: Path, letters: Letters, principal: str
) -> None:
    """For a client without rights, and for one with all rights. Each request is sent twice, because
    the first may build a codec."""
    authorizer = StandardAuthorizer.configured({"super.users": "User:admin"})
    costly = {}
    with services_of(tmp_path, authorizer, LISTENER) as services:
        for key in APIS:
            for what, body in bodies(key):
                answered(services, key, body, principal)
                cost = measured(letters, answered, services, key, body, principal)
                if not BOUND.holds(cost, len(body)):
                    costly[APIS[key].name, what] = cost
    assert not costly


@pytest.mark.once
@pytest.mark.parametrize("most", MANY)
@pytest.mark.parametrize("principal", ["User:stranger", "User:admin"])
def test_a_byte_of_a_long_request_takes_no_more_cpu_than_the_page_says(
    tmp_path: Path, principal: str, most: int
) -> None:
    """At two sizes: with the larger number of elements, work in proportion to their square would
    be far above the bound."""
    authorizer = StandardAuthorizer.configured({"super.users": "User:admin"})
    costly = {}
    with services_of(tmp_path, authorizer, LISTENER) as services:
        for key in APIS:
            for what, body in bodies(key, most):
                cpu_s = min(cpu_of(answered, services, key, body, principal) for _ in range(2))
                if not BOUND.holds_cpu(cpu_s, len(body)):
                    costly[APIS[key].name, what] = cpu_s * 1e6 / len(body)
    assert not costly


@pytest.mark.once
def test_a_byte_before_the_login_costs_no_more_than_the_page_says(letters: Letters) -> None:
    """Tries every API, and login requests of the largest size. The reason for a closed connection
    is one line, and ``RefusalLog`` bounds these."""
    costly = {}
    for key in {*range(95), *APIS}:
        for version in (0, 1, 4, 99):
            for body in (b"", b"\xff" * (BEFORE_LOGIN_BYTES - 10), bytes(BEFORE_LOGIN_BYTES - 10)):
                frame = framed(
                    key.to_bytes(2, "big")
                    + version.to_bytes(2, "big")
                    + bytes(4)
                    + b"\xff\xff"
                    + body
                )
                received(connected(), frame)
                cost = measured(letters, received, connected(), frame)
                cpu_s = min(cpu_of(received, connected(), frame) for _ in range(2))
                if not (BOUND.holds(cost, len(frame)) and BOUND.holds_cpu(cpu_s, len(frame))):
                    costly[key, version, body[:1]] = cost, cpu_s
    assert not costly


def connected() -> ServerConnection:
    logins = Logins(MECHANISMS, CredentialsPublisher(b"secret"), {}, bytes)
    return ServerConnection(
        announced_versions(APIS, "4.4"),
        logins=logins,
        principal=KafkaPrincipal("User", "x"),
        most_bytes=1 << 20,
    )


def received(connection: ServerConnection, frame: bytes) -> None:
    """The whole reason for a closed connection goes to the log."""
    try:
        for step in connection.receive(frame):
            assert len(step) < 2_000
    except InvalidRequest as error:
        logging.getLogger("metalog_node").info("%s", error)


def measured(letters: Letters, work: Callable[..., object], *arguments: object) -> Cost:
    letters.written = 0
    tracemalloc.start()
    try:
        work(*arguments)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return Cost(peak, letters.written)


def cpu_of(work: Callable[..., object], *arguments: object) -> float:
    """Seconds, of all threads of this process."""
    started = process_time()
    work(*arguments)
    return process_time() - started


@pytest.fixture
def letters() -> Iterator[Letters]:
    counting, root = Letters(), logging.getLogger()
    before = root.level
    root.addHandler(counting)
    root.setLevel("INFO")
    yield counting
    root.setLevel(before)
    root.removeHandler(counting)

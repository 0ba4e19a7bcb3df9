"""Long requests of one client do not delay other clients, over real connections."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Semaphore

from metalog.hosts.host_port import Address
from metalog.wire.frames import framed
from metalog.wire.messages import correlation_of
from metalog.wire.schema import request_type
from metalog_node import HandledApi
from metalog_node.handlers import quotas
from metalog_node.handlers.request import Answer, IncomingRequest, Services
from tests.support.disk.written_log import formatted
from tests.support.node.blocked_loop import ticking
from tests.support.node.running import BOTH_ROLES
from tests.support.wire.hostile_requests import Shape, request

KEY = quotas.DESCRIBE_QUOTAS
ASKED = framed(request(request_type(KEY, 1), Shape()))
CORRELATION_ID = 7
A_STRANGERS, ANOTHERS = "127.0.0.1", "127.0.0.2"
REQUESTS = 6
WITHIN_S = 30


def connected(address: Address, source: str) -> socket.socket:
    return socket.create_connection(address, WITHIN_S, source_address=(source, 0))


def answered(client: socket.socket) -> int:
    size = int.from_bytes(client.recv(4, socket.MSG_WAITALL), "big")
    return correlation_of(client.recv(size, socket.MSG_WAITALL))


def test_many_long_requests_of_one_client_delay_no_other(tmp_path: Path) -> None:
    """With two threads, which the client's requests would otherwise occupy forever."""
    go_on, begun = Event(), Semaphore(0)
    api = quotas.APIS[KEY]

    def slow(services: Services, incoming: IncomingRequest) -> Answer:
        if incoming.context.host == A_STRANGERS:
            begun.release()
            assert go_on.wait(WITHIN_S)
        return api.handle(services, incoming)

    formatted(tmp_path)
    properties = {**BOTH_ROLES, "metadata.log.dir": str(tmp_path)}
    apis: dict[int, HandledApi] = {KEY: api._replace(handle=slow, most_bytes_on_loop=0)}
    with ExitStack() as stack:
        node, _ = stack.enter_context(ticking(properties, apis))
        stack.callback(go_on.set)
        address = node.addresses["PLAINTEXT"]
        strangers = [stack.enter_context(connected(address, A_STRANGERS)) for _ in range(REQUESTS)]
        for each in strangers:
            each.sendall(ASKED)
        assert begun.acquire(timeout=WITHIN_S)
        another = stack.enter_context(connected(address, ANOTHERS))
        another.sendall(ASKED)
        assert answered(another) == CORRELATION_ID
        assert not begun.acquire(blocking=False)
        go_on.set()
        assert [answered(each) for each in strangers] == [CORRELATION_ID] * REQUESTS

"""Requests that are forwarded to our controller, over sockets."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from metalog.hosts.host_port import Address
from metalog.principal import KafkaPrincipal
from metalog.wire.client.security import client_settings
from metalog.wire.messages import correlation_of, read_response, write_request
from metalog.wire.schema import request_parts, response_type
from metalog_node.forward import Forwarder, ForwardingRefused, NoAnswerInTime
from metalog_node.node import Node
from tests.support.disk.written_log import formatted
from tests.support.node.running import running_in

CREATE = 30
NOBODY_THERE = Address("127.0.0.1", 1)
ADMIN, NOBODY = KafkaPrincipal("User", "admin"), KafkaPrincipal("User", "nobody")
CLIENT = bytes([10, 0, 0, 1])
SETTINGS = client_settings({"request.timeout.ms": "5000"})


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[Node]:
    formatted(tmp_path)
    with running_in(tmp_path) as node:
        yield node


def create(correlation_id: int) -> bytes:
    parts = request_parts(CREATE, 3)
    creation = parts.AclCreation(
        resource_type=2,
        resource_name="forwarded",
        resource_pattern_type=3,
        principal="User:app",
        host="*",
        operation=3,
        permission_type=3,
    )
    return write_request(parts.CreateAclsRequest(creations=(creation,)), correlation_id, "client")


def test_the_answer_is_the_controllers_to_the_client(controller: Node) -> None:
    forwarder = Forwarder(lambda: [NOBODY_THERE, controller.addresses["CONTROLLER"]], SETTINGS)
    try:
        for correlation_id, principal, code in ((3, ADMIN, 0), (4, NOBODY, 31)):
            answer = forwarder.forward(create(correlation_id), principal, CLIENT).result(60)
            assert correlation_of(answer) == correlation_id
            body = read_response(answer, response_type(CREATE, 3))
            assert [int(each.error_code) for each in body.results] == [code]
    finally:
        forwarder.close()
    names = {acl.resource_name for acl in controller.replica.image.acls.by_id.values()}
    assert "forwarded" in names


def test_nobody_is_waited_for_longer_than_the_request_may_take() -> None:
    forwarder = Forwarder(lambda: [NOBODY_THERE], client_settings({"request.timeout.ms": "300"}))
    try:
        with pytest.raises(NoAnswerInTime, match=r"127\.0\.0\.1:1: connection refused"):
            forwarder.forward(create(1), ADMIN, CLIENT).result(60)
    finally:
        forwarder.close()


def test_one_that_hangs_is_left_when_another_is_the_controller(controller: Node) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hanging = Address(*silent.getsockname())
        known = [hanging]
        forwarder = Forwarder(lambda: known, SETTINGS)
        try:
            answer = forwarder.forward(create(3), ADMIN, CLIENT)
            with silent.accept()[0]:
                known[:] = [controller.addresses["CONTROLLER"]]
                assert correlation_of(answer.result(SETTINGS.request_timeout_s / 2)) == 3
        finally:
            forwarder.close()


def test_closing_waits_for_no_answer() -> None:
    """The client gets the answer that there was none in time, and tries elsewhere."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hanging = Address(*silent.getsockname())
        forwarder = Forwarder(lambda: [hanging], client_settings({"request.timeout.ms": "60000"}))
        answer = forwarder.forward(create(3), ADMIN, CLIENT)
        with silent.accept()[0]:
            forwarder.close()
        with pytest.raises(NoAnswerInTime):
            answer.result(0)


def test_a_controller_that_takes_no_envelope_of_ours_is_not_asked_again(tmp_path: Path) -> None:
    formatted(tmp_path)
    with running_in(tmp_path, **{"super.users": "User:admin"}) as node:
        forwarder = Forwarder(lambda: [node.addresses["CONTROLLER"]], SETTINGS)
        try:
            with pytest.raises(ForwardingRefused):
                forwarder.forward(create(1), ADMIN, CLIENT).result(60)
        finally:
            forwarder.close()

"""Requests are repeated, except for a write of unknown outcome."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from kio.schema.errors import ErrorCode as KafkaErrorCode

from metalog.acl import ANY_ACL
from metalog.hosts.host_port import Address
from metalog.wire.client.cluster_client import ClusterClient, OutcomeUnknown
from metalog.wire.client.connection import NotSent, Unreachable
from metalog.wire.client.security import PLAINTEXT
from metalog.wire.schema import Body, response_parts
from metalog.wire.versions import NoCommonVersion
from tests.support.wire.peers import answering
from tests.support.worlds.small_acls import allow

ACL = allow("payments")
NONE, NOT_CONTROLLER = KafkaErrorCode.none, KafkaErrorCode.not_controller


def created(*codes: Any) -> Body:
    parts = response_parts(30, 3)
    results = tuple(parts.AclCreationResult(error_code=c, error_message=None) for c in codes)
    return parts.CreateAclsResponse(throttle_time=timedelta(), results=results)


def listed(code: Any = NONE, *resources: Any) -> Body:
    return response_parts(29, 3).DescribeAclsResponse(
        throttle_time=timedelta(), error_code=code, error_message=None, resources=resources
    )


def resource(kind: int, *entries: tuple[int, int]) -> Any:
    parts = response_parts(29, 3)
    acls = tuple(
        parts.AclDescription(principal="User:a", host="*", operation=o, permission_type=p)
        for o, p in entries
    )
    return parts.DescribeAclsResource(
        resource_type=kind, resource_name="payments", pattern_type=3, acls=acls
    )


def controllers(leader: Address) -> Body:
    parts = response_parts(60, 1)
    node = parts.DescribeClusterBroker(broker_id=7, host=leader.host, port=leader.port, rack=None)
    return parts.DescribeClusterResponse(
        throttle_time=timedelta(), error_code=NONE, cluster_id="c", controller_id=7, brokers=(node,)
    )


def client(*addresses: Address) -> ClusterClient:
    return ClusterClient(addresses, PLAINTEXT)


def test_a_read_is_repeated() -> None:
    answers: list[Body | None] = [None, listed(NOT_CONTROLLER), listed()]
    with answering(lambda request: answers.pop(0)) as (address, asked):
        assert client(address).describe_acls(ANY_ACL).acls == ()
    assert asked == ["DescribeAcls"] * 3


def test_a_read_that_is_never_answered_ends() -> None:
    with (
        answering(lambda request: None) as (address, asked),
        pytest.raises(
            Unreachable, match="closed the connection at our first request; it may want a login"
        ),
    ):
        client(address).describe_acls(ANY_ACL)
    assert asked == ["DescribeAcls"] * 3


@pytest.mark.parametrize("answer", [None, created(), listed()])
def test_a_write_of_unknown_outcome_is_not_repeated(answer: Body | None) -> None:
    """No answer, or one without a result for the ACL."""
    with (
        answering(lambda request: answer) as (address, asked),
        pytest.raises(OutcomeUnknown, match=r"the change's outcome is unknown$"),
    ):
        client(address).create_acls([ACL])
    assert asked == ["CreateAcls"]


def test_after_a_write_that_was_not_sent_nothing_is_unknown() -> None:
    """The call had no time left, or the connection broke before the request was sent."""
    with answering(lambda request: created(NONE)) as (address, asked):
        late = ClusterClient([address], PLAINTEXT._replace(call_timeout_s=0.0))
        with pytest.raises(NotSent, match=r"the request could not be sent in time$"):
            late.create_acls([ACL])
        broken = client(address)
        connected = broken._connected()._socket
        assert connected is not None
        connected.shutdown(socket.SHUT_WR)
        with pytest.raises(NotSent, match="closed the connection"):
            broken.create_acls([ACL])
        assert asked == []
        [outcome] = broken.create_acls([ACL])
        broken.close()
    assert not outcome.is_failure


def test_a_write_goes_on_to_the_controller_that_leads() -> None:
    with answering(lambda request: created(NONE)) as (leader, led):
        answers: Sequence[Body] = (created(NOT_CONTROLLER), controllers(leader))
        remaining = list(answers)
        with answering(lambda request: remaining.pop(0)) as (address, asked):
            cluster = client(address)
            [outcome] = cluster.create_acls([ACL])
            cluster.close()
    assert not outcome.is_failure
    assert (asked, led) == (["CreateAcls", "DescribeCluster"], ["CreateAcls"])


def test_acls_of_a_newer_kafka_are_told_apart() -> None:
    """By codes that Kafka 4.3 has no name for: resource type 8, operation 16, permission 4."""
    answer = listed(NONE, resource(2, (3, 3), (16, 3), (16, 2), (3, 4)), resource(8, (3, 3)))
    with answering(lambda request: answer) as (address, _):
        found = client(address).describe_acls(ANY_ACL)
    assert found.acls == (allow("payments", principal="User:a"),)
    assert found.unread == {"operation 16": 2, "permission 4": 1, "resource type 8": 1}


def test_an_api_that_a_listener_does_not_offer() -> None:
    with answering(lambda request: None) as (address, _), pytest.raises(NoCommonVersion) as raised:
        client(address).describe_users()
    assert str(raised.value) == (
        f"the listener {address} does not offer DescribeUserScramCredentials in a supported version"
    )

"""The requests that only controllers log, compared with what each of Kafka's requests needs."""

import pytest

from authorizer.permissions.table import APIS, Permission
from metalog.acl import Operation, ResourceType
from metalog_spark.ingest.controllers import CONTROLLER_REQUESTS, controller_can_decide_by
from tests.support.worlds.small_acls import allow

LOGGED = {
    "broker": [("DescribeAcls", "DESCRIBE", "CLUSTER"), ("Metadata", "DESCRIBE", "TOPIC")],
    "controller": [
        ("BrokerHeartbeat", "CLUSTER_ACTION", "CLUSTER"),
        ("BrokerRegistration", "CLUSTER_ACTION", "CLUSTER"),
        ("ControllerRegistration", "CLUSTER_ACTION", "CLUSTER"),
        ("CreateAcls", "ALTER", "CLUSTER"),
        ("CreateTopics", "CREATE", "CLUSTER"),
        ("CreateTopics", "DESCRIBE_CONFIGS", "TOPIC"),
        ("DeleteTopics", "DELETE", "CLUSTER"),
        ("Envelope", "CLUSTER_ACTION", "CLUSTER"),
        ("Fetch", "CLUSTER_ACTION", "CLUSTER"),
        ("IncrementalAlterConfigs", "ALTER_CONFIGS", "TOPIC"),
    ],
}
"""The DEBUG lines of a broker and a controller of Kafka 4.3.1, in separate processes, for allowed
requests while a topic was created, configured and deleted and an ACL was added."""
NEEDS = {
    api.name: {each for need in api.needs for each in need.one_of}
    for api in APIS
    if api.name in CONTROLLER_REQUESTS
}


def test_a_controllers_log_is_told_from_a_brokers_and_its_uses_are_in_doubt_without() -> None:
    named = {whose: {name for name, *_ in logged} for whose, logged in LOGGED.items()}
    assert not named["broker"].intersection(CONTROLLER_REQUESTS)
    assert named["controller"].difference(CONTROLLER_REQUESTS) == {
        "Fetch",
        "IncrementalAlterConfigs",
    }
    for _, operation, kind in LOGGED["controller"]:
        assert controller_can_decide_by(allow("any", Operation[operation], kind=ResourceType[kind]))


def test_what_every_voter_is_asked_does_not_show_the_active_one() -> None:
    """Kafka 3.9's leader keeps sending BeginQuorumEpoch to all others, and each logs it as allowed:
    the logs of two of three would pass for all."""
    assert not {"Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "Fetch"}.intersection(
        CONTROLLER_REQUESTS
    )


def test_each_is_a_request_of_kafkas() -> None:
    assert sorted(NEEDS) == sorted(CONTROLLER_REQUESTS)


@pytest.mark.parametrize("name", CONTROLLER_REQUESTS)
def test_a_grant_that_such_a_request_needs_may_be_used_there(name: str) -> None:
    """Except to describe a deleted topic, which the right to delete implies."""
    implied = Permission(Operation.DESCRIBE, ResourceType.TOPIC)
    for operation, kind, _ in NEEDS[name] - {implied}:
        assert controller_can_decide_by(allow("any", operation, kind=kind))


def test_a_grant_of_what_brokers_decide_is_not_in_doubt() -> None:
    among_brokers = Permission(Operation.CLUSTER_ACTION, ResourceType.CLUSTER)
    for name in ("Produce", "Fetch", "OffsetCommit", "JoinGroup", "InitProducerId"):
        [api] = [each for each in APIS if each.name == name]
        asked = {each for need in api.needs for each in need.one_of}
        for operation, kind, _ in asked - {among_brokers}:
            assert not controller_can_decide_by(allow("any", operation, kind=kind))

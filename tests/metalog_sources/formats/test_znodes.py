"""Kafka's znodes: those that Kafka 3.9.1 wrote into ZooKeeper 3.8.4, and the forms of KIPs."""

from __future__ import annotations

import re

import pytest

from metalog.acl import Acl, Operation, PatternType, PermissionType, ResourceType
from metalog.errors import InvalidRequest
from metalog.scram import ScramMechanism, credential_of, salted_password
from metalog_sources.formats.zookeeper import znodes
from metalog_sources.formats.zookeeper.kip11 import Resource
from tests.support.kafka.cases import REPOSITORY

TOPIC = (ResourceType.TOPIC, "t", PatternType.LITERAL)
GROUP = (ResourceType.GROUP, "a:b", PatternType.LITERAL)
PREFIX = (ResourceType.TOPIC, "pay-", PatternType.PREFIXED)

NODE = (
    b'{"acls":[{"principal":"User:alice","permissionType":"Allow","host":"*",'
    b'"operation":"Describe"},{"principal":"User:alice","permissionType":"Allow","host":"*",'
    b'"operation":"DescribeConfigs"}],"version":1}'
)
USER = (
    b'{"version":1,"config":{"SCRAM-SHA-256":"salt=NTZ1cHN5eXNvdm5va3V6bjV6NHRtOTdzOA==,'
    b"stored_key=JWNjhlunGGgrhTzmWCvBsyHdBERKgv63iw0kDTNqe4g=,"
    b'server_key=NpQ3HyE9wizf2KA6kyePLZhI5wLYeTpeQtzRgTsjVsM=,iterations=4096",'
    b'"producer_byte_rate":"1024"}}'
)
"""The output of ``kafka-configs --add-config SCRAM-SHA-256=[iterations=4096,password=p]``."""


def acl(resource: Resource, operation: Operation = Operation.READ) -> Acl:
    return Acl(*resource, "User:alice", "*", operation, PermissionType.ALLOW)


def refused(read: object, *arguments: object) -> str:
    with pytest.raises(InvalidRequest) as caught:
        list(read(*arguments) or ())  # type: ignore[operator]
    return str(caught.value)


def test_a_resource_and_its_path() -> None:
    assert znodes.path_of(TOPIC) == "/kafka-acl/Topic/t"
    assert znodes.path_of(PREFIX) == "/kafka-acl-extended/prefixed/Topic/pay-"
    token = (ResourceType.DELEGATION_TOKEN, "x", PatternType.LITERAL)
    assert znodes.path_of(token) == "/kafka-acl/DelegationToken/x"
    for root, type_name, name, resource in (
        ("/kafka-acl", "Topic", "t", TOPIC),
        ("/kafka-acl", "GROUP", "a:b", GROUP),
        ("/kafka-acls", "CONSUMER_GROUP", "a:b", GROUP),
        ("/kafka-acl-extended/prefixed", "Topic", "pay-", PREFIX),
        ("/kafka-extended-acl/prefixed", "topic", "pay-", PREFIX),
        ("/kafka-acl", "Broker", "t", None),
        ("/kafka-acl", "Any", "t", None),
    ):
        assert znodes.resource_at(root, type_name, name) == resource


def test_a_node_as_kafka_writes_it() -> None:
    read = [entry.acl for entry in znodes.read_acls(NODE, "zk/n", TOPIC)]
    assert read == [acl(TOPIC, Operation.DESCRIBE), acl(TOPIC, Operation.DESCRIBE_CONFIGS)]
    assert znodes.read_acls(b"", "zk/n", TOPIC) == []
    for data, said in (
        (NODE.replace(b"Describe", b"Descry", 1), "zk/n, line 1, column 84: unknown operation"),
        (NODE[:-5], "zk/n, line 1, column "),
        (b"\xff", "zk/n: not UTF-8"),
        (NODE.replace(b'"version":1', b'"version":2'), "version 2 is unknown"),
    ):
        assert said in refused(lambda data: znodes.read_acls(data, "zk/n", TOPIC), data)


def test_events_as_kafka_writes_them() -> None:
    group = ("/kafka-acl-changes", b"GROUP:a:b")
    prefix = (
        "/kafka-acl-extended-changes",
        b'{"version":1,"resourceType":"TOPIC","name":"pay-","patternType":"PREFIXED"}',
    )
    for resource, event in ((GROUP, group), (PREFIX, prefix)):
        assert znodes.event_of(resource) == event
        assert znodes.read_event(event[1], "zk/e") == resource


def test_events_in_either_spelling() -> None:
    assert znodes.read_event(b"Group:a:b", "zk/e") == GROUP
    kip = b'{"version":1, "resourceType":"Topic", "name":"pay-", "patternType":"PREFIXED"}'
    assert znodes.read_event(kip, "zk/e") == PREFIX
    assert znodes.read_event(b"Broker:1", "zk/e") is None
    assert "zk/e: not a change of ACLs" in refused(znodes.read_event, b"nothing", "zk/e")
    assert "has no name" in refused(znodes.read_event, b'{"version":1,"resourceType":"x"}', "zk/e")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a/b", "no name with a slash"),
        (".", "no node"),
        ("..", "no node"),
        ("a\0", "no node"),
        ("a\x7f", "no node"),
        ("\ue000", "no node"),
        ("\U0001f600", "no node"),
    ],
)
def test_names_that_no_node_can_have(name: str, said: str) -> None:
    why = znodes.why_not(acl((ResourceType.TOPIC, name, PatternType.LITERAL)))
    assert why is not None
    assert said in why


def test_names_that_a_node_can_have() -> None:
    for name in ("*", "a.b", "...", "g é*", "a:b", "x" * 249, "日本", " "):
        assert znodes.why_not(acl((ResourceType.GROUP, name, PatternType.PREFIXED))) is None


def test_an_operation_newer_than_zookeepers_last_kafka() -> None:
    why = znodes.why_not(acl(TOPIC, Operation.TWO_PHASE_COMMIT))
    assert why is not None
    assert "TWO_PHASE_COMMIT" in why


def test_a_user_as_kafka_writes_it() -> None:
    [user] = znodes.read_user(USER, "zk/u", "bob")
    assert (user.user, user.mechanism) == ("bob", ScramMechanism.SCRAM_SHA_256)
    salt, iterations = user.credential.salt, user.credential.iterations
    salted = salted_password(user.mechanism, "p", salt, iterations)
    assert user.credential == credential_of(user.mechanism, salted, salt, iterations)
    assert znodes.user_of("bob%20smith%2Bx") == "bob smith+x"
    assert znodes.user_of("a+b%2A") == "a b*"
    for nothing in (b"", b'{"version":1}', b'{"version":1,"config":{}}'):
        assert list(znodes.read_user(nothing, "zk/u", "bob")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"salt=", b"pepper="),
        (b",iterations=4096", b""),
        (b"=4096", b"=many"),
        (b"=4096", b"=4096,a=test"),
        (b"JWNjhlu", b"!!!!"),
    ],
)
def test_a_broken_credential_shows_nothing_of_it(old: bytes, new: bytes) -> None:
    said = refused(znodes.read_user, USER.replace(old, new), "zk/u", "bob")
    assert said.startswith("zk/u, line 1, column ")
    assert "SCRAM-SHA-256" in said
    for secret in ("NTZ1", "JWNj", "Njh", "NpQ3"):
        assert secret not in said


def test_what_the_page_shows_is_read_so() -> None:
    page = (REPOSITORY / "docs" / "formats" / "znodes.md").read_text(encoding="utf-8")
    codes = re.findall(r"`([^`\n]+)`", page)
    event, user = (code for code in codes if code.startswith("{"))
    assert znodes.read_event(event.encode(), "page") == PREFIX
    assert znodes.event_of(PREFIX)[1] == event.encode()
    assert znodes.read_event(b"GROUP:name", "page") == (
        ResourceType.GROUP,
        "name",
        PatternType.LITERAL,
    )
    [read] = znodes.read_user(user.replace("…", "QUJD").encode(), "page", "u")
    assert read.credential == (b"ABC", b"ABC", b"ABC", 4096)
    paths = {code.partition("/<")[0] for code in codes if code.startswith("/kafka-")}
    roots = {*znodes.ROOTS, *(f"{root}/acl_changes_NNNNNNNNNN" for root in znodes.EVENT_ROOTS)}
    assert paths == roots

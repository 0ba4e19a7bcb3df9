"""The programs in examples/ run as processes, used by librdkafka's clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from metalog.hosts.host_port import parse_addresses
from metalog.wire.client.connection import Connection
from metalog.wire.client.security import client_settings
from metalog.wire.schema import request_parts
from tests.support.command.example_programs import example

PASSWORD = "app-secret"
QUIET = {"log_level": 0}


@contextmanager
def program(name: str, *arguments: str | Path) -> Iterator[tuple[str, str]]:
    """The addresses for the program's super user and for others."""
    with example(name, *arguments) as started:
        admins, users = started.said("open")
        yield admins, users
    assert started.errors == ""


@pytest.fixture(params=["toy_broker", "proxy"])
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The toy broker, or one behind the proxy; topics ``orders`` and ``payments``."""
    with ExitStack() as stack:
        toy = program("toy_broker", tmp_path / "toy", "orders", "payments")
        addresses = stack.enter_context(toy)
        if request.param == "proxy":
            proxy = program("proxy", tmp_path / "proxy", addresses[0])
            addresses = stack.enter_context(proxy)
        yield addresses


def test_each_topic_is_authorized_for_itself(running: tuple[str, str]) -> None:
    at_admins, at_users = running
    admin = AdminClient({"bootstrap.servers": at_admins, **QUIET})
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    upsertion = UserScramCredentialUpsertion("app", credential, PASSWORD.encode())
    admin.alter_user_scram_credentials([upsertion])["app"].result(60)
    app = {
        "bootstrap.servers": at_users,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "app",
        "sasl.password": PASSWORD,
        **QUIET,
    }
    assert set(produced(app)) == {("orders", DENIED), ("payments", DENIED)}
    allow(admin, AclOperation.WRITE)
    assert set(produced(app)) == {("orders", None), ("payments", DENIED)}
    assert listed(at_users, "orders", "payments") == {("orders", 0), ("payments", 29)}
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        consumed(app, "orders")
    allow(admin, AclOperation.READ)
    assert consumed(app, "orders") == b"to orders"
    superuser = {"bootstrap.servers": at_admins, **QUIET}
    assert set(produced(superuser)) == {("orders", None), ("payments", None)}
    assert consumed(superuser, "payments") == b"to payments"
    assert [*AdminClient(app).list_topics(timeout=60).topics] == ["orders"]


DENIED = "TOPIC_AUTHORIZATION_FAILED"


def produced(config: dict[str, object]) -> list[tuple[str, str | None]]:
    outcomes = []
    producer = Producer({**config, "message.timeout.ms": 15_000})
    for topic in ("orders", "payments"):
        producer.produce(
            topic,
            f"to {topic}".encode(),
            partition=0,
            on_delivery=lambda error, message: outcomes.append(
                (message.topic(), error and error.name())
            ),
        )
    assert producer.flush(20) == 0
    return outcomes


def listed(address: str, *topics: str) -> set[tuple[str, int]]:
    """The error code of each topic in one ListOffsets of all, sent by ``app``."""
    settings = client_settings(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required"
            f' username="app" password="{PASSWORD}";',
        }
    )
    kio = request_parts(2, 5)
    partition = kio.ListOffsetsPartition(partition_index=0, timestamp=-2)
    asked = kio.ListOffsetsRequest(
        replica_id=-1,
        isolation_level=0,
        topics=tuple(kio.ListOffsetsTopic(name=each, partitions=(partition,)) for each in topics),
    )
    with Connection(parse_addresses(address)[0], settings) as connection:
        answer = connection.ask(asked)
    return {(each.name, int(each.partitions[0].error_code)) for each in answer.topics}


def consumed(config: dict[str, object], topic: str) -> bytes | None:
    """The first message of ``topic``; raises the broker's error."""
    consumer = Consumer({**config, "group.id": "unused", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        message = consumer.poll(20)
        assert message is not None
        if message.error():
            raise KafkaException(message.error().name())
        return message.value()
    finally:
        consumer.close()


def allow(admin: AdminClient, operation: AclOperation) -> None:
    binding = AclBinding(
        ResourceType.TOPIC,
        "orders",
        ResourcePatternType.LITERAL,
        "User:app",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )
    for created in admin.create_acls([binding]).values():
        created.result(60)

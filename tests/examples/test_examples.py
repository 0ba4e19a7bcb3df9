"""The programs in examples/ run as processes, used by librdkafka's clients."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
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
from metalog.records.batch import RawRecord, assemble_batch, encode_batch
from metalog.wire.client.connection import Connection, Unreachable
from metalog.wire.client.security import ClientSettings, client_settings
from metalog.wire.frames import FrameReader, framed
from metalog.wire.messages import correlation_of, write_request
from metalog.wire.schema import Body, request_parts
from tests.support.command.example_programs import example
from tests.support.wire.peers import next_frame

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
    create_app(admin)
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


def test_a_produce_without_acks_gets_no_response(running: tuple[str, str]) -> None:
    """The next request of the connection is answered; an error closes the connection, as in
    Kafka."""
    at_admins, at_users = running
    superuser = {"bootstrap.servers": at_admins, **QUIET}
    create_app(AdminClient(superuser))

    def sent(number: int, acks: int, records: bytes = BATCH) -> bytes:
        return framed(write_request(produce(acks, records), number, "test"))

    with socket.create_connection(parse_addresses(at_admins)[0], 20) as client:
        client.sendall(sent(1, 0) + sent(2, 1))
        assert correlation_of(next_frame(client, FrameReader())) == 2
        client.sendall(sent(3, 0, b"not a batch") + sent(4, 1))
        assert client.recv(1) == b""
    assert consumed(superuser, "orders") == b"without acks"
    with Connection(parse_addresses(at_users)[0], as_app()) as denied:
        assert outcomes(denied.ask(produce(1, BATCH))) == {"orders": DENIED}
        with pytest.raises(Unreachable, match="it closed the connection"):
            denied.ask(produce(0, BATCH))


def test_topics_of_one_produce_are_allowed_and_denied(running: tuple[str, str]) -> None:
    at_admins, at_users = running
    admin = AdminClient({"bootstrap.servers": at_admins, **QUIET})
    create_app(admin)
    allow(admin, AclOperation.WRITE)
    allow(admin, AclOperation.WRITE, "absent")
    with Connection(parse_addresses(at_users)[0], as_app()) as client:
        refused = client.ask(produce(2, BATCH, "orders", "payments", "absent"))
        answer = client.ask(produce(1, BATCH, "orders", "payments"))
    absent = {"absent": "UNKNOWN_TOPIC_OR_PARTITION"}
    assert outcomes(refused) == {"orders": "INVALID_REQUIRED_ACKS", "payments": DENIED, **absent}
    assert outcomes(answer) == {"orders": "NONE", "payments": DENIED}
    assert first_offsets(answer) == {"orders": 0, "payments": -1}


BATCH = encode_batch(
    assemble_batch(0, 0, 1, [RawRecord(0, 0, 0, None, b"without acks", ())], is_control=False)
)


def produce(acks: int, records: bytes, *topics: str) -> Body:
    kio = request_parts(0, 8)
    partition = kio.PartitionProduceData(index=0, records=records)
    request: Body = kio.ProduceRequest(
        acks=acks,
        timeout=timedelta(seconds=20),
        topic_data=tuple(
            kio.TopicProduceData(name=each, partition_data=(partition,))
            for each in topics or ("orders",)
        ),
    )
    return request


def first_offsets(answer: Body) -> dict[str, int]:
    return {
        topic.name: topic.partition_responses[0].base_offset
        for topic in answer.responses  # type: ignore[attr-defined]
    }


def outcomes(answer: Body) -> dict[str, str]:
    return {
        topic.name: topic.partition_responses[0].error_code.name.upper()
        for topic in answer.responses  # type: ignore[attr-defined]
    }


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


def create_app(admin: AdminClient) -> None:
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    upsertion = UserScramCredentialUpsertion("app", credential, PASSWORD.encode())
    admin.alter_user_scram_credentials([upsertion])["app"].result(60)


def as_app() -> ClientSettings:
    return client_settings(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required"
            f' username="app" password="{PASSWORD}";',
        }
    )


def listed(address: str, *topics: str) -> set[tuple[str, int]]:
    """The error code of each topic in one ListOffsets of all, sent by ``app``."""
    kio = request_parts(2, 5)
    partition = kio.ListOffsetsPartition(partition_index=0, timestamp=-2)
    asked = kio.ListOffsetsRequest(
        replica_id=-1,
        isolation_level=0,
        topics=tuple(kio.ListOffsetsTopic(name=each, partitions=(partition,)) for each in topics),
    )
    with Connection(parse_addresses(address)[0], as_app()) as connection:
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


def allow(admin: AdminClient, operation: AclOperation, topic: str = "orders") -> None:
    binding = AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        "User:app",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )
    for created in admin.create_acls([binding]).values():
        created.result(60)

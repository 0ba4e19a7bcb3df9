"""What librdkafka reports about an unreachable cluster, and how often it is passed on."""

from __future__ import annotations

import logging

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException

from metalog.kafka_client import LogThrottle, Troubles, is_transient
from tests.support.suite.waiting import eventually


def test_a_cluster_that_is_away_is_told_of_once_and_not_at_each_attempt(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logging.getLogger("metalog.kafka_client")
    attempts: list[str] = []

    def count(record: logging.LogRecord) -> bool:
        attempts.append(record.getMessage().partition(" ")[0])
        return True

    monkeypatch.setattr(log, "filters", [count, LogThrottle()])
    troubles = Troubles()
    settings = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", **troubles.settings}
    consumer = confluent_kafka.Consumer(settings)

    def has_tried_again() -> bool:
        consumer.poll(0.1)
        return attempts.count("FAIL") > 2

    assert eventually(has_tried_again)
    consumer.close()
    assert "Connection refused" in troubles.last
    assert len([line for line in caplog.messages if line.startswith("FAIL ")]) == 1


def test_a_kind_of_line_is_told_again_after_half_a_minute() -> None:
    times = [0.0, 1.0, 29.0, 30.0, 31.0]
    lines = [logging.LogRecord("x", logging.ERROR, "", 0, f"FAIL {at}", None, None) for at in times]
    clock = iter(times)
    lets_through = LogThrottle(lambda: next(clock)).filter
    assert [at for at, line in zip(times, lines, strict=True) if lets_through(line)] == [0.0, 30.0]


@pytest.mark.parametrize(
    ("code", "can_succeed_later"),
    [
        (KafkaError._UNKNOWN_PARTITION, True),
        (KafkaError.CONCURRENT_TRANSACTIONS, True),
        (KafkaError.OFFSET_NOT_AVAILABLE, True),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, False),
        (KafkaError._AUTHENTICATION, False),
        (KafkaError.INVALID_CONFIG, False),
    ],
)
def test_what_a_starting_broker_or_an_election_answers_is_transient(
    code: int, can_succeed_later: bool
) -> None:
    assert is_transient(KafkaException(KafkaError(code))) == can_succeed_later

"""Kafka's own client, and librdkafka, log in again before a login expires (KIP-368)."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.disk.written_log import formatted
from tests.support.kafka.tools import KafkaTools
from tests.support.node.running import running_in

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
LOGIN_HOLDS_MS = 1_500


def test_clients_log_in_again_on_the_connection_that_they_have(
    kafka_tools: KafkaTools, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An expired login is closed with a line in the log; there is none."""
    caplog.set_level("INFO")
    formatted(tmp_path)
    keys = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{MODULE} user_a="pencil-1";',
        "connections.max.reauth.ms": str(LOGIN_HOLDS_MS),
        "super.users": "User:a",
    }
    with running_in(tmp_path, **keys) as node:
        client = {
            "bootstrap.servers": str(node.addresses["SASL_PLAINTEXT"]),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
        }
        java = kafka_tools.classes
        properties = java.java.util.HashMap()
        for key, value in client.items():
            properties.put(key, value)
        properties.put("sasl.jaas.config", f'{MODULE} username="a" password="pencil-1";')
        kafkas = java.org.apache.kafka.clients.admin.Admin.create(properties)
        other = AdminClient({**client, "sasl.username": "a", "sasl.password": "pencil-1"})
        asks: list[Callable[[], object]] = [
            lambda: kafkas.describeCluster().clusterId().get(),
            lambda: other.describe_cluster().result(60).cluster_id,
        ]
        begun = time.monotonic()
        while time.monotonic() - begun < 2.5 * LOGIN_HOLDS_MS / 1000:
            assert all(ask() for ask in asks)
            time.sleep(0.1)
        assert "connection closed" not in caplog.text
        kafkas.close()

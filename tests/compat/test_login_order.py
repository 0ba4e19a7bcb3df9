"""Requests at the wrong moment of a login are answered as by Kafka."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from metalog.hosts.host_port import Address
from metalog.wire.client.session import SASL_HANDSHAKE
from metalog.wire.frames import framed
from metalog.wire.messages import write_request
from metalog.wire.schema import request_type
from metalog.wire.versions import API_VERSIONS
from tests.support.disk.written_log import formatted
from tests.support.kafka.scram import ScramKafka
from tests.support.node.running import running_in


def answers(address: Address, version: int) -> bytes:
    """All bytes after SaslHandshake and ApiVersions, until the server hangs up."""
    software = {"client_software_name": "c", "client_software_version": "1"} if version >= 3 else {}
    with socket.create_connection(address, timeout=60) as client:
        hello = request_type(SASL_HANDSHAKE, 1)(mechanism="SCRAM-SHA-256")
        client.sendall(framed(write_request(hello, 1, "test")))
        size = int.from_bytes(client.recv(4, socket.MSG_WAITALL), "big")
        client.recv(size, socket.MSG_WAITALL)
        client.sendall(
            framed(write_request(request_type(API_VERSIONS, version)(**software), 2, ""))
        )
        received = b""
        while data := client.recv(4096):
            received += data
    return received


@pytest.mark.parametrize("version", [0, 3, 4])
def test_versions_amid_a_login(scram_cluster: ScramKafka, tmp_path: Path, version: int) -> None:
    formatted(tmp_path)
    listeners = "SASL_PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"
    with running_in(tmp_path, listeners=listeners) as node:
        ours = answers(node.addresses["SASL_PLAINTEXT"], version)
    host, _, port = scram_cluster.kafka.bootstrap.rpartition(":")
    assert ours == answers(Address(host, int(port)), version) != b""

"""ACL requests of version 0, from before pattern types, compared with the last Kafka that took
them. KIP-290: a client without pattern types must not see, add or remove prefixed ACLs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from metalog.hosts.host_port import Address, parse_addresses
from metalog.wire.schema import Body
from tests.support.disk.written_log import formatted
from tests.support.kafka.tools import KafkaTools, RealKafka
from tests.support.kafka.zookeeper import JARS, missing_for_zookeeper
from tests.support.node.running import running_in
from tests.support.wire import admin_requests as wire
from tests.support.wire.lockstep import asking, lockstep

pytestmark = pytest.mark.xdist_group("real-zookeeper")


@pytest.fixture(scope="module")
def old_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    if missing := missing_for_zookeeper():
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp("kafka-3.9")
    with RealKafka.started(KafkaTools(JARS), folder) as kafka:
        [address] = parse_addresses(kafka.bootstrap)
        yield address


def requests() -> Iterator[Body]:
    """Includes changes by new clients; the result is listed with version 3."""
    prefixed = wire.creation(3, resource_pattern_type=4)
    yield wire.create(wire.creation(0), wire.creation(0, resource_name="*"), version=0)
    yield wire.create(prefixed, wire.creation(3, resource_pattern_type=4, host="10.0.0.1"))
    yield wire.create(wire.creation(0, resource_type=99), version=0)
    for described in (
        {},
        {"resource_type_filter": 2, "resource_name_filter": "beside"},
        {"resource_name_filter": "*"},
        {"operation": 4},
    ):
        yield wire.describe(0, **described)
        yield wire.describe(3, **described)
    yield wire.delete(wire.acl_filter(0, operation=99), wire.acl_filter(0), version=0)
    yield wire.describe(0)
    yield wire.describe(3)
    yield wire.delete(wire.acl_filter())


def test_the_last_kafka_that_spoke_version_0(old_kafka: Address, tmp_path: Path) -> None:
    formatted(tmp_path)
    with running_in(tmp_path) as node:
        ours = node.addresses["PLAINTEXT"]
        lockstep(asking(old_kafka, requests()), asking(ours, requests()))

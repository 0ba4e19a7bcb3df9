"""Three nodes on one topic of a real Kafka: one is active, and when it is killed another is.

METALOG_CRASH_RUNS sets how often (2).
"""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

import pytest
from admin_requests import describe
from kafka_tools import RealKafka
from topic_logs import new_address
from topic_nodes import SETTINGS, Load, TopicNodeProcess, leader_of, topic_nodes

from metalog import Loader, TopicLog
from metalog.image.metadata import MetadataImage
from metalog.loader import feed
from metalog.wire.client import Connection

pytestmark = pytest.mark.xdist_group("real-kafka")

RUNS = int(os.environ.get("METALOG_CRASH_RUNS", "2"))
TAKEOVER_S = 10.0


def image_of(topic: str) -> MetadataImage:
    loader, log = Loader(), TopicLog(topic)
    feed(loader, log, log.read(0))
    return loader.image


def acls_at(node: TopicNodeProcess) -> list[tuple[str, ...]]:
    with Connection(node.address, SETTINGS) as connection:
        answer = connection.ask(describe())
    return sorted(
        (resource.resource_name, acl.principal)
        for resource in answer.resources
        for acl in resource.acls
    )


def wait_until_equal(nodes: list[TopicNodeProcess], wanted: list[tuple[str, ...]]) -> None:
    deadline = time.monotonic() + 10
    while any(acls_at(node) != wanted for node in nodes):
        assert time.monotonic() < deadline, [len(acls_at(node)) for node in nodes]
        time.sleep(0.1)


def test_what_was_acknowledged_survives_every_kill_of_the_active_node(
    real_kafka: RealKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = new_address(real_kafka.bootstrap)
    takeovers = []
    with topic_nodes(topic, tmp_path) as nodes:
        with Load(nodes) as load:
            load.waits_for(10, 0.0, 30)
            for _ in range(RUNS):
                active = nodes[leader_of(topic) - 1]
                active.kill()
                killed_at = time.monotonic()
                takeovers.append(load.waits_for(10, killed_at, 30) - killed_at)
                active.start()
                active.wait_until_open()
                load.waits_for(10, time.monotonic(), 30)
        image = image_of(topic)
        found = Counter(acl.resource_name for acl in image.acls.by_id.values())
        names = {name for _, _, name in load.acknowledged}
        assert names <= found.keys(), "acknowledged and lost"
        assert found.keys() <= load.asked
        assert set(found.values()) == {1}, "doubled"
        wait_until_equal(nodes, sorted((name, "User:beside") for name in found))
    with capsys.disabled():
        worst, middle = max(takeovers), sorted(takeovers)[len(takeovers) // 2]
        print(
            f"\n{RUNS} kills of the active node, {len(names):,} acknowledged: taken over within"
            f" {worst:.1f} s (median {middle:.1f} s)"
        )
    assert worst < TAKEOVER_S

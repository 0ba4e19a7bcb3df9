"""The election of one writer for the log in a topic, on librdkafka's mock cluster.
``tests/compat/test_topic_nodes.py`` kills nodes beside a real Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metalog import Replica, TopicLog
from metalog.controller.result import ControllerResult
from metalog.errors import NotController
from metalog.log.topic.election import TopicCandidacy
from metalog.records.messages import RegisterControllerRecord
from tests.support.disk.tiny_log import ace, ids
from tests.support.kafka.topic_logs import MockedCluster, mock_kafka, new_address
from tests.support.suite.waiting import eventually

WITHIN_S = 60


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with mock_kafka() as bootstrap:
        yield bootstrap


@pytest.fixture
def cluster(broker: str) -> MockedCluster:
    return MockedCluster(new_address(broker))


def candidate(cluster: MockedCluster, node_id: int) -> Replica:
    cluster.facts()
    log = TopicLog(str(cluster.address), cluster=cluster)
    first_records = [(RegisterControllerRecord(controller_id=node_id), 0)]
    return Replica(log, candidacy=TopicCandidacy(log, node_id, lambda: first_records))


def create(replica: Replica, number: int) -> None:
    change = ControllerResult([(ace(number), 0)], None)
    replica.submit(lambda image: change).result(WITHIN_S)


def test_one_is_active_and_the_next_takes_over_with_the_image_that_it_has(
    cluster: MockedCluster,
) -> None:
    first, second = candidate(cluster, 1), candidate(cluster, 2)
    with first:
        assert eventually(lambda: first.is_active)
        create(first, 1)
        with second:
            assert eventually(lambda: ids(second.image) == {1})
            assert second.image == first.image
            assert [*second.image.cluster.controllers] == [1]
            with pytest.raises(NotController, match="another node is active"):
                create(second, 2)
            first.close()
            assert eventually(lambda: second.is_active)
            create(second, 2)
            assert ids(second.image) == {1, 2}
            assert {*second.image.cluster.controllers} == {1, 2}
            with pytest.raises(NotController):
                create(first, 3)
        assert ids(first.image) == {1}

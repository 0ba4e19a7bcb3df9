"""What several tests beside a real Kafka share."""

from __future__ import annotations

import pytest

from tests.support.kafka.made_now import MadeNow, made_now
from tests.support.kafka.tools import KafkaTools


@pytest.fixture(scope="session", name="made_now")
def the_one_made_now(kafka_tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory) -> MadeNow:
    """For ``xdist_group("real-kafka")``. Tests may change its folder, not its case."""
    return made_now(kafka_tools, tmp_path_factory.mktemp("made-now"))

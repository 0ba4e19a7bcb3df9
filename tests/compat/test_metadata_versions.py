"""The levels of metadata.version at which the newest Kafka refuses a log equal ours."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from metalog.records.messages import FeatureLevelRecord
from tests.support.disk.tiny_log import batch, loaded
from tests.support.kafka.jvm import tools_process
from tests.support.kafka.tools import KafkaTools


@pytest.mark.xdist_group("real-kafka")
def test_what_kafka_refuses_is_a_problem(newest_kafka_tools: KafkaTools) -> None:
    java = tools_process(newest_kafka_tools).classes
    version: Any = java.org.apache.kafka.server.common.MetadataVersion
    for level in (-1, 0, 1, 6, 7, 8, 30, 31, 33, 34, 35, 99, 32767):
        try:
            version.fromFeatureLevel(level)
            refused = False
        except Py4JJavaError:
            refused = True
        loader = loaded(batch(0, FeatureLevelRecord("metadata.version", level)), mark=1)
        problem = loader.image.features.problem
        assert (problem is not None) == refused, level
        assert problem is None or f"metadata.version {level} " in problem

"""The levels of metadata.version at which Kafka refuses a log, held against Kafka's own."""

from __future__ import annotations

from typing import Any

from kafka_jvm import tools_process
from kafka_tools import KafkaTools
from py4j.protocol import Py4JJavaError
from tiny_log import batch, loaded

from metalog.records.messages import FeatureLevelRecord


def test_what_kafka_refuses_is_a_problem(kafka_tools: KafkaTools) -> None:
    version: Any = tools_process(kafka_tools).classes.org.apache.kafka.server.common.MetadataVersion
    for level in (-1, 0, 1, 6, 7, 8, 29, 30, 31, 32, 33, 34, 99, 32767):
        try:
            version.fromFeatureLevel(level)
            refused = False
        except Py4JJavaError:
            refused = True
        loader = loaded(batch(0, FeatureLevelRecord("metadata.version", level)), mark=1)
        problem = loader.image.features.problem
        assert (problem is not None) == refused, level
        assert problem is None or f"metadata.version {level} " in problem

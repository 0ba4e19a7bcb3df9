"""kafka-features tells of a node what it tells of Kafka: what is supported, what is in force."""

from __future__ import annotations

from pathlib import Path

from kafka_tools import KafkaTools
from running_node import running_in
from written_log import formatted

from metalog_node.features import SUPPORTED


def test_what_is_supported_is_what_kafkas_broker_supports(kafka_tools: KafkaTools) -> None:
    """But for kraft.version, which is a quorum's own."""
    java = kafka_tools.classes
    theirs = java.org.apache.kafka.server.BrokerFeatures.createDefault(False).supportedFeatures()
    ranges = {name: (each.min(), each.max()) for name, each in theirs.features().items()}
    ranges.pop("kraft.version")
    assert {name: tuple(each) for name, each in SUPPORTED.items()} == ranges


def test_kafka_features_describes_a_node(kafka_tools: KafkaTools, tmp_path: Path) -> None:
    formatted(tmp_path)
    with running_in(tmp_path) as node:
        described = kafka_tools.run(
            "org.apache.kafka.tools.FeatureCommand",
            *("--bootstrap-server", str(node.addresses["PLAINTEXT"]), "describe"),
        )
        epoch = node.replica.image.provenance.offset - 1
    lines = [line.split() for line in described.splitlines()]
    assert [line[1] for line in lines] == sorted(SUPPORTED)
    [metadata_version] = [line[3::2] for line in lines if line[1] == "metadata.version"]
    assert metadata_version == ["3.3-IV3", "4.3-IV0", "4.3-IV0", str(epoch)]

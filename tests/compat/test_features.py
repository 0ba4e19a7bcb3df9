"""kafka-features prints for a node what it prints for Kafka: supported and finalized features."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metalog_node.features import SUPPORTED
from tests.support.kafka.tools import CLUSTER_ID, KafkaTools, RealKafka
from tests.support.node.running import running_in


def described(tools: KafkaTools, *at: str) -> list[str]:
    lines = tools.run("org.apache.kafka.tools.FeatureCommand", *at, "describe").splitlines()
    return [line.partition("Epoch:")[0] for line in lines]


@pytest.mark.xdist_group("real-kafka")
def test_what_is_supported_is_what_kafkas_broker_supports(either_kafka: KafkaTools) -> None:
    java = either_kafka.classes
    theirs = java.org.apache.kafka.server.BrokerFeatures.createDefault(False).supportedFeatures()
    ranges = {name: (each.min(), each.max()) for name, each in theirs.features().items()}
    ours = SUPPORTED[either_kafka.release]
    assert {name: tuple(each) for name, each in ours.items()} == ranges


@pytest.mark.xdist_group("real-kafka")
@pytest.mark.parametrize("kraft_version", [0, 1])
def test_kafka_features_describes_a_node_as_it_describes_kafka(
    kafka_tools: KafkaTools, real_kafka: RealKafka, tmp_path: Path, kraft_version: int
) -> None:
    """The voters are configured (0), as in this Kafka, or the log names them (1). Both listeners
    are asked."""
    config = tmp_path / "kafka.properties"
    voters = "voters=1@127.0.0.1:9" if kraft_version == 0 else "bootstrap.servers=127.0.0.1:9"
    config.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        f"listeners=PLAINTEXT://:0,CONTROLLER://:9\nlog.dirs={tmp_path / 'log'}\n"
        f"controller.quorum.{voters}\n"
    )
    how = ["--standalone"] if kraft_version else []
    kafka_tools.storage("format", "-t", CLUSTER_ID, "-c", config, *how)
    theirs = described(kafka_tools, "--bootstrap-server", real_kafka.bootstrap)
    expected = [
        re.sub("(?<=FinalizedVersionLevel: ).", str(kraft_version), line)
        if "kraft.version" in line
        else line
        for line in theirs
    ]
    with running_in(tmp_path / "log") as node:
        for how_to_ask, listener in (("server", "PLAINTEXT"), ("controller", "CONTROLLER")):
            at = (f"--bootstrap-{how_to_ask}", str(node.addresses[listener]))
            assert described(kafka_tools, *at) == expected

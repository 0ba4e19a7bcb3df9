"""The examples of ``docs/formats/directory.md`` are read as the page says."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from metalog.ids import METADATA_TOPIC_ID, SnapshotId
from metalog.log.folder import layout
from tests.support.kafka.cases import REPOSITORY, KafkaCase, kafka_case

PAGE = (REPOSITORY / "docs" / "formats" / "directory.md").read_text()
EXAMPLES = dict(re.findall(r"^```(?:hex|text|json|properties) (\S+)\n(.*?)^```", PAGE, re.M | re.S))
OWNERS = {
    "leader-epoch-checkpoint": ("quorum-4.3/node-11", "__cluster_metadata-0"),
    "quorum-state": ("quorum-4.3/node-11", "__cluster_metadata-0"),
    "partition.metadata": ("basic-4.3", "__cluster_metadata-0"),
    "meta.properties": ("basic-4.3", ""),
}


def fields(heading: str) -> set[str]:
    """The names in code type in the first column of the table below a heading."""
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return set(re.findall(r"^\| `([^`]+)` \|", section, re.M))


@pytest.mark.parametrize("name", OWNERS)
def test_the_examples_are_kafkas_files(name: str) -> None:
    case, folder = OWNERS[name]
    assert EXAMPLES[name].strip() == (kafka_case(case).log_dir / folder / name).read_text().strip()


def test_the_names_are_read_as_the_page_says() -> None:
    assert "Segment: `00000000000000000608.log`" in PAGE
    assert layout.segment_base_offset("00000000000000000608.log") == 608
    assert "Snapshot: `00000000000000000723-0000000001.checkpoint`" in PAGE
    name = "00000000000000000723-0000000001.checkpoint"
    assert layout.snapshot_id(name) == SnapshotId(723, 1)


def test_leader_epochs() -> None:
    epochs = layout.parse_leader_epochs(EXAMPLES["leader-epoch-checkpoint"].encode(), "")
    assert epochs.epoch_at(206) == 3
    assert epochs.epoch_at(207) == 4


def test_quorum_state(kafka_case: KafkaCase) -> None:
    state = layout.parse_quorum_state(EXAMPLES["quorum-state"].encode(), "")
    assert state == (13, 4, 13, (11, 12, 13), 0)
    real = (kafka_case.metadata_dir / "quorum-state").read_text()
    assert set(re.findall(r'"(\w+)":', real)) - {"voterId"} <= fields("`quorum-state`")


def test_partition_metadata() -> None:
    data = EXAMPLES["partition.metadata"].strip().encode()
    assert layout.parse_partition_metadata(data, "") == METADATA_TOPIC_ID


def test_meta_properties(kafka_case: KafkaCase) -> None:
    properties = layout.parse_meta_properties(EXAMPLES["meta.properties"].encode(), "")
    assert properties == ("qpE8pZ7NTK6XZxqCgBbxyg", 1, "o_4CMkHkb9_BKRqMW_rAaw", "1")
    real = (kafka_case.log_dir / "meta.properties").read_text()
    assert set(re.findall(r"^([a-z.]+)=", real, re.M)) <= fields("`meta.properties`")


@pytest.mark.parametrize(("suffix", "entry"), [("index", ">ii"), ("timeindex", ">qi")])
def test_index_files(suffix: str, entry: str) -> None:
    case = kafka_case("basic-4.3")
    name = f"00000000000000000000.{suffix}"
    example = bytes.fromhex(EXAMPLES[name])
    real: Path = case.metadata_dir / name
    assert real.read_bytes().startswith(example)
    batches = case.json_lines("batches.jsonl")
    first, second = struct.unpack(entry, example)
    if suffix == "index":
        assert {"lastOffset": first, "position": second}.items() <= next(
            batch for batch in batches if batch["position"] == second
        ).items()
        text = f"offset {first} is the last of the batch that begins at byte {second}"
        assert text in PAGE
    else:
        upto = [batch["maxTimestamp"] for batch in batches if batch["lastOffset"] <= second]
        assert first == max(upto)
        assert re.sub(r"\s+", " ", PAGE).count(f"up to offset {second} is {first}") == 1

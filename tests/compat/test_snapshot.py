"""Kafka's own tools read the snapshots that we write, and find the same state."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from metalog.ids import uuid_text
from metalog.image.metadata import MetadataImage
from metalog.records.masking import to_json
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from snapshot.writer import write_snapshot
from tests.support.kafka.cases import KafkaCase, kafka_case, kafka_cases
from tests.support.kafka.tools import KafkaTools

PAYLOAD = re.compile(r"\| offset: \d+ .* payload: (\{.*\})")
DUMPED = re.compile(r"Dumping (.*)")


def image_of(case: KafkaCase) -> MetadataImage:
    return replay_source(open_source(str(case.log_dir), environ={}), tolerant=True).image


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, MetadataImage]:
    root = tmp_path_factory.mktemp("snapshots")
    found = {}
    for number, case in enumerate(kafka_cases()):
        if not case.is_invalid:
            folder = root / str(number)
            folder.mkdir()
            image = image_of(case)
            found[write_snapshot(image, folder, timestamp=1_700_000_000_000)] = image
    return found


def dumped(tools: KafkaTools, files: list[Path]) -> dict[Path, list[str]]:
    """The output of DumpLogSegments for each file; one Java process for all."""
    main = "org.apache.kafka.tools.DumpLogSegments"
    listed = ",".join(map(str, files))
    output = tools.run(main, "--cluster-metadata-decoder", "--files", listed)
    lines: dict[Path, list[str]] = {}
    for line in output.split("\n"):
        if match := DUMPED.fullmatch(line):
            lines[Path(match[1])] = current = []
        else:
            current.append(line)
    return lines


def test_dump_log_segments_finds_exactly_the_records(
    kafka_tools: KafkaTools, written: dict[Path, MetadataImage]
) -> None:
    dumps = dumped(kafka_tools, list(written))
    assert dumps.keys() == written.keys()
    for path, image in written.items():
        lines = dumps[path]
        payloads = [json.loads(match[1]) for line in lines if (match := PAYLOAD.fullmatch(line))]
        assert payloads == [
            {"type": message.TYPE_NAME, "version": version, "data": to_json(message, version)}
            for message, version in image.write()
        ]
        batches = [line for line in lines if line.startswith("baseOffset:")]
        assert all(line.endswith("isvalid: true") for line in batches)
        assert "SnapshotHeader" in lines[2]
        assert any("SnapshotFooter" in line for line in lines[-3:])
        offset, epoch, _ = image.provenance
        assert lines[0] == f"Snapshot end offset: {offset}, epoch: {epoch}"


def test_the_metadata_shell_loads_one(kafka_tools: KafkaTools, tmp_path: Path) -> None:
    image = image_of(kafka_case("basic-4.3"))
    path = write_snapshot(image, tmp_path, timestamp=1_700_000_000_000)
    done = subprocess.run(
        kafka_tools.command("org.apache.kafka.shell.MetadataShell", "--snapshot", path),
        input="ls /image/acls/byId\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    shown = set(re.findall(r"[A-Za-z0-9_-]{22}", done.stdout))
    assert shown == set(map(uuid_text, image.acls.by_id))

"""A writer killed under load, repeatedly, on one log: acknowledged changes are there, and no
request is there in part. METALOG_CRASH_RUNS sets the number of runs (10)."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from metalog import DirectoryLog, Loader, MetadataImage
from metalog.ids import uuid_text
from tests.support.disk.killed_runs import check, run_and_kill
from tests.support.disk.written_log import formatted
from tests.support.kafka.case_maker import decode, replay
from tests.support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.xdist_group("killed-writer"), pytest.mark.once]
RUNS = int(os.environ.get("METALOG_CRASH_RUNS", "10"))


def image_of(folder: Path) -> MetadataImage:
    loader = Loader()
    for event in DirectoryLog(folder).read(0):
        loader.handle(event)
    return loader.image


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with many killed writers, checked after each."""
    folder = formatted(tmp_path_factory.mktemp("killed") / "node")
    chance = random.Random(RUNS)
    said: list[str] = []
    for run in range(RUNS):
        said += run_and_kill(str(folder), run, chance)
        check(image_of(folder), said)
    return folder


def test_what_was_acknowledged_survives_each_kill(killed: Path) -> None:
    log = DirectoryLog(killed)
    assert [start.epoch for start in log.leader_epochs.starts] == list(range(1, RUNS + 1))
    assert len(log.folder.segments) > 1


def test_kafkas_reader_finds_the_same(killed: Path, kafka_tools: KafkaTools) -> None:
    log = DirectoryLog(killed)
    records = [
        record
        for base in log.folder.segments
        for record in decode(kafka_tools, log.folder.segment_path(base)).records
    ]
    ours = image_of(killed).acls.by_id
    assert set(replay(records).acls) == {uuid_text(uuid) for uuid in ours}

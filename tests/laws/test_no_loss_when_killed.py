"""A writer killed under load, again and again on one log: what it acknowledged is there,
and no request is half there. METALOG_CRASH_RUNS sets how often (20)."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from case_maker import decode, replay
from cases import REPOSITORY
from kafka_tools import KafkaTools
from killed_writer import IN_ONE_REQUEST
from written_log import formatted

from metalog import DirectoryLog, Loader, MetadataImage
from metalog.ids import uuid_text

pytestmark = pytest.mark.xdist_group("killed-writer")
RUNS = int(os.environ.get("METALOG_CRASH_RUNS", "20"))
WRITER = REPOSITORY / "tests" / "support" / "killed_writer.py"
LINES = 30


def run_and_kill(folder: Path, run: int, chance: random.Random) -> list[str]:
    """What a writer said before it was killed at some moment of its work."""
    with subprocess.Popen(
        [sys.executable, WRITER, folder, str(run)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(LINES)]
        time.sleep(chance.uniform(0, 0.1))
        writer.kill()
        said += writer.stdout.readlines()
    assert writer.returncode == -9, "the writer ended by itself"
    return [line.removesuffix("\n") for line in said if line.endswith("\n")]


def image_of(folder: Path) -> MetadataImage:
    loader = Loader()
    for event in DirectoryLog(folder).read(0):
        loader.handle(event)
    return loader.image


def check(image: MetadataImage, said: list[str]) -> None:
    found = Counter(
        acl.resource_name.rpartition("-")[0]
        for acl in image.acls.by_id.values()
        if "-" in acl.resource_name
    )
    assert set(found.values()) <= {IN_ONE_REQUEST}, "a request is half there"
    told: dict[str, set[str]] = {}
    for line in said:
        word, _, request = line.partition(" ")
        told.setdefault(word, set()).add(request)
    assert found.keys() <= told["create"]
    assert told["created"] - told.get("delete", set()) <= found.keys(), "acknowledged and lost"
    assert not told.get("deleted", set()) & found.keys(), "deleted and back again"


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose writers were all killed, checked after each."""
    folder = formatted(tmp_path_factory.mktemp("killed") / "node")
    chance = random.Random(RUNS)
    said: list[str] = []
    for run in range(RUNS):
        said += run_and_kill(folder, run, chance)
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

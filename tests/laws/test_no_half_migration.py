"""A migration killed in the middle leaves no trace for us or Kafka; a second run completes it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metalog import MetadataImage
from metalog.ids import uuid_text
from metalog.records.acl_codes import acl_of
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from shell.main import main
from tests.support.disk.killed_migration import RECORDS_PER_BATCH
from tests.support.disk.written_log import FIRST_ACL, formatted
from tests.support.kafka.case_maker import decode, replay
from tests.support.kafka.cases import REPOSITORY
from tests.support.kafka.tools import KafkaTools

APPLY = REPOSITORY / "tests" / "support" / "disk" / "killed_migration.py"
OPTIONS = ("--include-credentials", "--yes", "--super-users", "User:root")
MANY = 4000
KILLS = 3
PATIENCE_S = 60


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("wanted") / "wanted.json"
    rule = {"principal": "User:a", "operation": "READ", "resourceType": "TOPIC"}
    key = {"salt": "c2FsdA==", "storedKey": "c3RvcmVk", "serverKey": "c2VydmVy"}
    user = {"user": "a", "mechanism": "SCRAM_SHA_256", "iterations": "4096", **key}
    lines = [*({**rule, "resourceName": f"t{number}"} for number in range(MANY)), user]
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


def image_of(folder: Path) -> MetadataImage:
    return replay_source(open_source(str(folder), environ={})).image


def segment_of(folder: Path) -> Path:
    return folder / "__cluster_metadata-0" / f"{0:020d}.log"


def run_and_kill(folder: Path, wanted: Path, after_batches: int) -> None:
    """Kills the process when so many more batches are on the disk."""
    before = segment_of(folder).stat().st_size if segment_of(folder).exists() else 0
    aim = before + after_batches * RECORDS_PER_BATCH * 50
    command = [sys.executable, APPLY, folder, wanted, *OPTIONS]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as migration:
        deadline = time.monotonic() + PATIENCE_S
        while not segment_of(folder).exists() or segment_of(folder).stat().st_size < aim:
            assert migration.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.001)
        migration.kill()
    assert migration.returncode == -9


@pytest.mark.once
def test_killed_and_run_again(tmp_path: Path, wanted: Path, kafka_tools: KafkaTools) -> None:
    folder = formatted(tmp_path / "node")
    bootstrapped = acl_of(FIRST_ACL)
    for kill in range(KILLS):
        run_and_kill(folder, wanted, 20 * (kill + 1))
        image = image_of(folder)
        assert list(image.acls.by_id.values()) == [bootstrapped]
        assert not image.scram.mechanisms
    assert main(["apply", str(folder), str(wanted), *OPTIONS]) == 0
    image = image_of(folder)
    names = {acl.resource_name for acl in image.acls.by_id.values()}
    assert len(image.acls) == MANY + 1
    assert names == {f"t{number}" for number in range(MANY)} | {bootstrapped.resource_name}
    records = decode(kafka_tools, segment_of(folder)).records
    kinds = [record.get("type") for record in records]
    assert kinds.count("ABORT_TRANSACTION_RECORD") == KILLS
    state = replay(records)
    assert set(state.acls) == {uuid_text(uuid) for uuid in image.acls.by_id}
    assert list(state.scram) == [("a", 1)]

"""The folder of a running Kafka is read while it grows, and never changed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from metalog.disk.files import LocalFiles, ReadableFile, WritableFile
from metalog.log.folder.directory import DirectoryLog
from metalog.ports import Appended
from metalog.records.batch import Batch
from metalog.records.messages import AccessControlEntryRecord
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from tests.support.kafka.tools import KafkaTools, RealKafka

pytestmark = pytest.mark.xdist_group("real-kafka")
LIMIT_S = 120.0


class ReadOnlyFiles(LocalFiles):
    def create(self, path: Path, *, mode: int = 0) -> WritableFile:
        raise AssertionError(f"{path} was to be written")

    rename = remove = sync_folder = create  # type: ignore[assignment]

    def open(self, path: Path) -> ReadableFile:
        assert path.name != ".lock", "closing any descriptor of .lock drops Kafka's lock"
        return super().open(path)


def news(log: DirectoryLog) -> Iterator[Batch]:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        for event in log.poll(0.2):
            if isinstance(event, Appended):
                yield event.batch


def test_a_new_acl_is_seen(real_kafka: RealKafka) -> None:
    log = DirectoryLog(real_kafka.log_dir, files=ReadOnlyFiles())
    batches = [event.batch for event in log.read(0) if isinstance(event, Appended)]
    assert log.proven.offset == log.bounds().end == batches[-1].next_offset
    assert (log.missing, log.may_be_missing) == (None, None)
    real_kafka.tools.run(
        "org.apache.kafka.tools.AclCommand",
        "--bootstrap-server", real_kafka.bootstrap, "--add", "--allow-principal", "User:live",
        "--operation", "READ", "--topic", "live-directory",
    )  # fmt: skip
    expected = batches[-1].next_offset
    for batch in news(log):
        assert batch.base_offset == expected
        expected = batch.next_offset
        if any(
            isinstance(message, AccessControlEntryRecord)
            and message.resource_name == "live-directory"
            for message in batch.messages()
        ):
            break
    else:
        pytest.fail("the ACL did not arrive")
    assert log.bounds().end >= expected


def test_no_false_alarm_while_kafka_rolls_segments_nor_after_kill_9(
    kafka_tools: KafkaTools, tmp_path: Path
) -> None:
    """Segments appear and vanish under the reader, and the last one may end anywhere."""
    rolls = {"metadata.log.segment.ms": "100", "metadata.max.idle.interval.ms": "50"}
    with RealKafka.started(kafka_tools, tmp_path, overrides=rolls) as kafka:
        begun = reads = len(DirectoryLog(kafka.log_dir).folder.segments)
        deadline = time.monotonic() + LIMIT_S
        while (
            len(seen := check_is_sound(kafka.log_dir).folder.segments) < begun + 5
            or reads < begun + 2
        ):
            assert time.monotonic() < deadline, seen
            reads += 1
        kafka.kill()
    check_is_sound(kafka.log_dir)


def check_is_sound(log_dir: Path) -> DirectoryLog:
    """Any report of damage, missing records or doubts would be a false alarm."""
    source = open_source(str(log_dir), environ={}, files=ReadOnlyFiles())
    replayed = replay_source(source, tolerant=True)
    log = source.log
    assert isinstance(log, DirectoryLog)
    assert (replayed.doubts, dict(replayed.skipped), replayed.problems) == ((), {}, ())
    assert (log.damage, log.missing, log.may_be_missing) == (None, None, None)
    assert replayed.image.features.metadata_version_name is not None
    return log

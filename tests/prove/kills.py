"""A real writer that is killed at a system call, again while it recovers, and what is there after
each: see ``kill_world``. Kafka's own tool reads the log of some of the kills."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from metalog import DirectoryLog
from metalog.ids import uuid_text
from tests.prove.promise import Promise
from tests.support.disk.kill_world import Kill, image_of, killed
from tests.support.disk.written_log import formatted
from tests.support.kafka.case_maker import decoded, replay
from tests.support.kafka.tools import JARS, KafkaTools

KAFKA_READS = 10
"""Kafka reads the log after each so many kills."""


def unit(seed: int) -> int:
    """Each system call of a writer, with its write whole or torn, and one of its successor's."""
    random, kills, kept = Random(seed), 0, list[Path]()
    with TemporaryDirectory() as root:
        fresh = formatted(Path(root) / "fresh")
        [whole] = killed(fresh, Path(root) / "whole", [])
        most = len(whole.steps)
        for at in range(most):
            folder = Path(root) / str(at)
            tears = [random.random() < 0.5 for _ in range(2)]
            both = [Kill(at, tears[0]), Kill(random.randrange(most), tears[1])]
            kills += sum(not run.has_ended for run in killed(fresh, folder, both))
            if at % KAFKA_READS:
                shutil.rmtree(folder)
            else:
                kept.append(folder)
        read_by_kafka(kept)
    return kills


def read_by_kafka(folders: Sequence[Path]) -> None:
    logs = [DirectoryLog(folder).folder for folder in folders]
    files = [
        (*map(log.snapshot_path, log.snapshots[-1:]), *map(log.segment_path, log.segments))
        for log in logs
    ]
    every = ",".join(str(file) for each in files for file in each)
    dumps = KafkaTools(JARS).dump_log(Path(every)).split("Dumping ")[1:]
    for folder, log, own in zip(folders, logs, files, strict=True):
        snapshot, *segments = [decoded(dumps.pop(0)).records for _ in own]
        end = log.snapshots[-1].end_offset
        later = [each for records in segments for each in records if each["offset"] >= end]
        expected = {uuid_text(key) for key in image_of(folder).acls.by_id}
        assert set(replay([*snapshot, *later]).acls) == expected, folder


PROMISE = Promise("kills", "a kill of the writer at one of its system calls", unit)

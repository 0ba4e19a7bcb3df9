"""A real controller whose log begins late, with a snapshot before it: what is followed then."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
from cases import kafka_case
from kafka_tools import KafkaTools, RealKafka

from metalog.log.quorum import QuorumLog
from metalog.ports import SnapshotNeeded
from snapshot.exchange.replay import replay_source
from snapshot.exchange.source import open_source

pytestmark = pytest.mark.xdist_group("kafka-quorum")


def test_a_log_without_its_beginning(kafka_tools: KafkaTools, tmp_path: Path) -> None:
    case = kafka_case("trimmed-4.3")
    kafka = RealKafka(kafka_tools, tmp_path, {})
    shutil.copytree(case.log_dir, kafka.log_dir)
    before = replay_source(open_source(str(kafka.log_dir), environ={}))
    with kafka:
        source = open_source(f"quorum://127.0.0.1:{kafka.controller_port}", environ={})
        log = source.log
        assert isinstance(log, QuorumLog)
        with contextlib.closing(log):
            assert (log.bounds().start, log.leader.id) == (608, 1)
            [known] = log.snapshots()
            assert next(log.read(0)) == SnapshotNeeded(known)
            now = replay_source(source)
            assert now.image.acls == before.image.acls
            assert now.image.scram == before.image.scram

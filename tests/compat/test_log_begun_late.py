"""A real Kafka whose log begins late, after a snapshot, and that has no authorizer."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator

import pytest

from metalog.log.quorum.observer import QuorumLog
from metalog.ports import SnapshotNeeded
from metalog_sources.replay import replay_source
from metalog_sources.source import open_source
from shell.main import main
from tests.support.kafka.cases import kafka_case
from tests.support.kafka.tools import KafkaTools, RealKafka

pytestmark = pytest.mark.xdist_group("begun-late")

CASE = kafka_case("trimmed-4.3")


@pytest.fixture(scope="module")
def begun_late(
    kafka_tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealKafka]:
    folder = tmp_path_factory.mktemp("begun-late")
    kafka = RealKafka(kafka_tools, folder, {"authorizer.class.name": ""})
    shutil.copytree(CASE.log_dir, kafka.log_dir)
    with kafka:
        yield kafka


def test_a_log_without_its_beginning_is_followed(begun_late: RealKafka) -> None:
    source = open_source(f"quorum://127.0.0.1:{begun_late.controller_port}", environ={})
    log = source.log
    assert isinstance(log, QuorumLog)
    with contextlib.closing(log):
        assert (log.bounds().start, log.leader.id) == (608, 1)
        [known] = log.snapshots()
        assert next(log.read(0)) == SnapshotNeeded(known)
        now = replay_source(source)
    before = replay_source(open_source(str(CASE.log_dir), environ={}))
    assert now.image.acls == before.image.acls
    assert now.image.scram == before.image.scram


@pytest.mark.parametrize("verb", [("acls",), ("can", "User:a", "Read", "topic:t")])
def test_a_cluster_without_an_authorizer_is_not_one_without_acls(
    begun_late: RealKafka, verb: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """It allows everything, so DENIED would be wrong; Kafka answers SECURITY_DISABLED."""
    url = f"cluster://{begun_late.bootstrap}"
    assert main([verb[0], url, *verb[1:]]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines()[-1] == (
        f"metalog: {url}: cannot list ACLs: SECURITY_DISABLED: No Authorizer is configured on "
        "the broker; without an authorizer everybody may do everything there"
    )

"""A stopped Kafka's folder that we changed is valid when Kafka starts again. It needs a Kafka of
its own: after a removal of users, Kafka may lose other users at a restart (a fault in
``ScramDelta.apply``), and tests on the shared one remove users."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from metalog import Replica, WritableDirectoryLog
from metalog.controller.scram_password import (
    Caller,
    ScramCredentials,
    ScramPasswordRequest,
    plan_passwords,
)
from metalog.controller.scram_password_config import ScramPasswordConfig
from shell.main import main
from tests.support.kafka.scram import MECHANISMS, ScramKafka, scram_kafka
from tests.support.kafka.tools import KafkaTools
from tests.support.suite.waiting import eventually

pytestmark = pytest.mark.xdist_group("real-kafka")

WANTED = """\
owns: [{resourceType: Topic, resourceName: stop-, patternType: prefixed}]
acls:
  - {principal: User:new, operation: [Read, Write], resourceType: Topic, resourceName: stop-eu}
  - {principal: User:new, operation: All, resourceType: Topic, resourceName: stop-,
     patternType: prefixed, host: 10.0.0.9, permissionType: deny}
"""
SUPER = ("--super-users", "User:ANONYMOUS;User:admin", "--prune", "--yes")


@pytest.fixture
def own_cluster(kafka_tools: KafkaTools, tmp_path: Path) -> Iterator[ScramKafka]:
    folder = tmp_path / "kafka"
    folder.mkdir()
    with scram_kafka(kafka_tools, folder) as started:
        yield started


def test_acls_and_passwords(
    own_cluster: ScramKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka = own_cluster.kafka
    folder = str(kafka.log_dir)
    wanted, password = tmp_path / "wanted.yaml", tmp_path / "password.txt"
    wanted.write_text(WANTED)
    password.write_text("first")
    changes = (
        ["apply", folder, str(wanted), *SUPER],
        ["passwd", folder, "dora", "--password-file", str(password)],
    )
    old = ("--add", "--allow-principal", "User:old", "--operation", "Read")
    own_cluster.kafka_acls(*old, "--topic", "stop-eu", "--topic", "orders")
    for change in changes:
        assert main(change) == 2
        assert folder in capsys.readouterr().err

    kafka.stop()
    for change in changes:
        assert main(change) == 0
    set_as_kip_506_says(Path(folder), "dora", "second")
    kafka.start()

    known = partial(own_cluster.lets_in, "dora", "first", MECHANISMS[0])
    assert eventually(known), "Kafka listens some moments before it knows its users"
    assert not own_cluster.lets_in("dora", "first", MECHANISMS[1])
    assert own_cluster.lets_in("dora", "second", MECHANISMS[1])
    listed = own_cluster.kafka_acls("--list", "--resource-pattern-type", "any")
    assert listed.count("principal=User:new") == 3
    assert listed.count("principal=User:old") == 1
    assert "(principal=User:new, host=10.0.0.9, operation=ALL, permissionType=DENY)" in listed
    as_admin = ("--command-config", str(own_cluster.settings()))
    assert main(["plan", own_cluster.url, str(wanted), *SUPER[:3], *as_admin]) == 0


def set_as_kip_506_says(folder: Path, user: str, password: str) -> None:
    request = ScramPasswordRequest([ScramCredentials(user, 2, password)])
    caller = Caller(is_encrypted=True, is_super_user=True)
    plan = plan_passwords(
        request, caller, ScramPasswordConfig.configured({}), None, lambda size: b"7" * size
    )
    with Replica(WritableDirectoryLog(folder)) as replica:
        for change in plan.requests.values():
            assert not replica.alter_scram(change).result(60)[user]

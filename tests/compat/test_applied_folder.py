"""ACLs applied to a stopped Kafka's own folder are those that it has when it starts again."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka_tools import KafkaTools, RealKafka

from shell.main import main

pytestmark = pytest.mark.xdist_group("real-kafka")

WANTED = """\
owns: [{resourceType: Topic, resourceName: pay-, patternType: prefixed}]
acls:
  - {principal: User:new, operation: [Read, Write], resourceType: Topic, resourceName: pay-eu}
  - {principal: User:new, operation: All, resourceType: Topic, resourceName: pay-,
     patternType: prefixed, host: 10.0.0.9, permissionType: deny}
"""
SUPER = ("--super-users", "User:ANONYMOUS", "--prune", "--yes")


def test_a_stopped_node(
    kafka_tools: KafkaTools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = tmp_path / "wanted.yaml"
    wanted.write_text(WANTED)
    with RealKafka.started(kafka_tools, tmp_path) as kafka:
        old = ("--add", "--allow-principal", "User:old", "--operation", "Read")
        kafka.acls(*old, "--topic", "pay-eu", "--topic", "orders")
        assert main(["apply", str(kafka.log_dir), str(wanted), *SUPER]) == 2
        assert str(kafka.log_dir) in capsys.readouterr().err
        kafka.stop()
        assert main(["apply", str(kafka.log_dir), str(wanted), *SUPER]) == 0
        kafka.start()
        listed = kafka.acls("--list", "--resource-pattern-type", "any")
        assert main(["plan", f"cluster://{kafka.bootstrap}", str(wanted), *SUPER[:3]]) == 0
    assert listed.count("principal=User:new") == 3
    assert listed.count("principal=User:old") == 1
    assert "(principal=User:new, host=10.0.0.9, operation=ALL, permissionType=DENY)" in listed

"""``metalog minimize``: its output makes the smaller set, and it changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shell.main import main
from tests.support.kafka.cases import DEMO

LOG = str(DEMO / "log-dir")
CONFIG = ("--config", str(DEMO / "server.properties"))


def test_the_smaller_set_has_no_difference_in_meaning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["minimize", LOG, *CONFIG, "-o", "yaml"]) == 0
    smaller = tmp_path / "smaller.yaml"
    smaller.write_text(capsys.readouterr().out)
    assert main(["diff", LOG, str(smaller), *CONFIG, "--meaning", "--exit-code", "-q"]) == 0
    assert "No difference in meaning, though 5 ACLs differ" in capsys.readouterr().out
    assert main(["minimize", LOG, *CONFIG]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "-  ALLOW User:orders-service DESCRIBE on topic orders from any host"
    assert printed[-1] == (
        "27 ACLs before, 22 after, proven to mean the same (35 cells). For a Metadata request for"
        " all 7 topics, Kafka makes 42 ACL checks before (about 18 µs), and 36 after (about 17 µs)."
    )
    assert main(["minimize", str(smaller), *CONFIG]) == 0
    assert "no smaller set was found" in capsys.readouterr().out


def test_its_steps_are_commands_and_records(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["minimize", LOG, *CONFIG, "-o", "commands", "-q"]) == 0
    commands = capsys.readouterr().out.splitlines()
    assert all(" --remove --force --" in each for each in commands)
    assert main(["minimize", LOG, *CONFIG, "-o", "json", "-q"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {each["change"] for each in records} == {"remove"}
    assert len(records) == len(commands)


def test_denies_and_what_files_own_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    acls = tmp_path / "acls.yaml"
    owns = "owns: [{resourceType: Topic, resourceName: pay-, patternType: Prefixed}]\n"
    acls.write_text(
        owns + "acls:\n"
        "- {principal: User:b, operation: [Read, Describe], resourceType: Topic, resourceName:"
        " [pay-eu, orders]}\n"
        "- {principal: User:z, operation: Read, resourceType: Topic, resourceName: x,"
        " permissionType: Deny}\n"
    )
    for options, number in (
        ((), 3),
        (("--keep-denies",), 2),
        (("--keep-owned", str(acls)), 2),
        (("--keep-owned", str(acls), "--keep-denies"), 1),
    ):
        assert main(["minimize", str(acls), "-o", "json", "-q", *options]) == 0
        assert len(capsys.readouterr().out.splitlines()) == number

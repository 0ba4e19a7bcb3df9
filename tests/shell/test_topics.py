"""``metalog topics``: as in KIP-11, describing a topic shows its ACLs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metalog.acl import ResourceType
from shell.arguments.acl_line import parse_acl_line
from shell.verbs.look.topics import _TopicAcls
from tests.support.command.runs import Run
from tests.support.kafka.cases import DEMO

LOG = DEMO / "log-dir"
CONFIG = ("--config", DEMO / "server.properties", "-q")


def test_the_topics_are_those_of_the_shell(run: Run) -> None:
    listed = run("topics", LOG, "-o", "json", "-q").stdout.splitlines()
    names = [json.loads(line)["topic"] for line in listed]
    assert names == sorted(run("shell", LOG, "--", "ls", "/image/topics/byName").stdout.split())


def test_what_reaches_each_is_what_acls_lists_and_who_can_answers(run: Run) -> None:
    described = run("topics", LOG, "--describe", "-o", "json", *CONFIG).stdout.splitlines()
    assert len(described) == 7
    for topic in map(json.loads, described):
        name = topic["topic"]
        match = ("--topic", name, "--resource-pattern-type", "match")
        acls = run("acls", LOG, *match, "-o", "json", "-q").stdout.splitlines()
        assert {each["id"] for each in topic["acls"]} == {json.loads(each)["id"] for each in acls}
        for operation in ("read", "write"):
            asked = run("who-can", LOG, operation, f"topic:{name}", "-o", "json", *CONFIG)
            assert topic[operation] == list(map(json.loads, asked.stdout.splitlines()))


def test_acls_on_a_topic_that_is_not_there_are_shown(run: Run) -> None:
    done = run("topics", LOG, "--describe", "--topic", "nix", "--topic", "audit", *CONFIG)
    assert done.returncode == 1
    missing, there, supers = done.stdout.split("\n\n")
    assert missing.startswith(
        "nix  there is no such topic  3 ACLs reach it\n  DENY User:contractor"
    )
    assert "\nNobody may WRITE on topic nix." in missing
    assert there.startswith("audit  2 partitions  4 ACLs reach it  ")
    assert supers == "super users may do everything: User:admin\n"


def test_a_file_of_acls_knows_no_topics(run: Run, tmp_path: Path) -> None:
    (tmp_path / "acls.yaml").write_text("acls: []\n")
    done = run("topics", tmp_path / "acls.yaml")
    assert done.returncode == 2
    assert "does not list topics; give a metadata.log.dir" in done.stderr


@pytest.mark.parametrize(
    ("acl", "reached"),
    [
        ("ALLOW User:a READ topic:pay", False),
        ("ALLOW User:a READ topic:pay --prefixed", True),
        ("ALLOW User:a READ topic:pay-1", True),
        ("ALLOW User:a READ topic:pay-12 --prefixed", False),
        ("ALLOW User:a READ topic:*", True),
        ("ALLOW User:a READ topic:* --prefixed", False),
        ("ALLOW User:a READ group:*", False),
    ],
)
def test_what_reaches_a_topic(acl: str, reached: bool) -> None:
    [found] = parse_acl_line(acl)
    assert bool(_TopicAcls([found]).reaching("pay-1")) is reached
    assert found.resource_type in (ResourceType.TOPIC, ResourceType.GROUP)

"""``metalog acls`` lists the same as kafka-acls, and mentions what kafka-acls leaves out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from shell.main import main
from tests.support.kafka.cases import DEMO, KafkaCase, kafka_case, kafka_cases

BASIC = kafka_case("basic-4.3")
TOOLS = BASIC.expected / "kafka-tools"
LISTINGS = [
    (case, each)
    for case in kafka_cases()
    if case.name in {BASIC.name, "acls-4.4"}
    for each in case.json("kafka-tools/index.json")
    if each["tool"] == "kafka-acls"
]
RESOURCE = re.compile(
    r"Current ACLs for resource `ResourcePattern\(resourceType=(\w+), name=(.*), "
    r"patternType=(\w+)\)`:",
    re.DOTALL,
)
ENTRY = re.compile(
    r"\(principal=(.*), host=(.*), operation=(\w+), permissionType=(\w+)\)", re.DOTALL
)
Fields = tuple[str, ...]


def listed_by_kafka(text: str) -> set[Fields]:
    """The ACLs that kafka-acls printed; a name may contain line ends."""
    found = set()
    for part in re.split(r"(?=Current ACLs for resource `)", text)[1:]:
        resource = RESOURCE.match(part)
        assert resource is not None
        for line in re.split(r"\n\t", part[resource.end() :])[1:]:
            entry = ENTRY.match(line.rstrip("\n "))
            assert entry is not None, line
            found.add((*resource.groups(), *entry.groups()))
    return found


def fields(acl: dict[str, Any]) -> Fields:
    keys = ("resourceType", "resourceName", "patternType", "principal", "host", "operation")
    return (*(acl[key] for key in keys), acl["permissionType"])


@pytest.mark.parametrize(
    ("case", "listing"), LISTINGS, ids=[f"{case.name}-{each['file']}" for case, each in LISTINGS]
)
def test_the_same_as_kafka_acls(
    case: KafkaCase, listing: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [text for text in listing["args"] if text != "--list"]
    assert main(["acls", str(case.log_dir), *arguments, "--json"]) == 0
    printed = capsys.readouterr().out
    ours = {fields(json.loads(line)) for line in printed.split("\n") if line}
    assert ours == listed_by_kafka(case.text(f"kafka-tools/{listing['file']}"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[list[str], str]:
    assert main(["acls", str(DEMO / "log-dir"), *map(str, arguments)]) == 0
    printed = capsys.readouterr()
    return printed.out.splitlines(), printed.err


def test_says_what_else_reaches_a_topic(capsys: pytest.CaptureFixture[str]) -> None:
    lines, err = run(capsys, "--topic", "payments-eu")
    assert lines == []
    said = "3 prefixed and 3 wildcard ACLs also reach payments-eu; --resource-pattern-type match"
    assert said in err
    lines, err = run(capsys, "--topic", "payments-eu", "--resource-pattern-type", "match")
    assert (len(lines), err) == (6, "")


def test_what_else_reaches_a_topic_passes_the_other_filters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, err = run(capsys, "--topic", "payments-eu", "--principal", "User:analytics")
    assert "1 wildcard ACL also reaches payments-eu" in err


def test_filters_narrow_and_options_given_twice_mean_either(
    capsys: pytest.CaptureFixture[str],
) -> None:
    everything, _ = run(capsys)
    denies, _ = run(capsys, "--permission", "deny")
    assert [line.split() for line in everything if " DENY " in line] == list(map(str.split, denies))
    either, _ = run(capsys, "--operation", "read", "--operation", "describe-configs")
    assert either
    assert {line.split()[4] for line in either} == {"READ", "DESCRIBE_CONFIGS"}
    hosted, _ = run(capsys, "--host", "10.0.4.12")
    assert all(" 10.0.4.12 " in line for line in hosted)


def test_formats_hold_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    import csv

    as_json = [json.loads(line) for line in run(capsys, "--json")[0]]
    as_csv = list(csv.DictReader(run(capsys, "-o", "csv")[0]))
    assert as_csv == as_json
    markdown, _ = run(capsys, "-o", "markdown")
    assert len(markdown) == len(as_json) + 2
    assert len({line.replace("\\|", "").count("|") for line in markdown}) == 1
    text, _ = run(capsys)
    assert {line.split()[-1] for line in text} == {acl["id"] for acl in as_json}


def test_a_principal_is_one_and_the_nearest_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    log_dir = str(DEMO / "log-dir")
    assert main(["acls", log_dir, "--principal", "billing"]) == 2
    assert "principal 'billing' has no type; write it as User:billing" in capsys.readouterr().err
    assert main(["acls", log_dir, "--principal", "user:billing"]) == 0
    assert "did you mean User:billing?" in capsys.readouterr().err
    assert main(["acls", log_dir, "--principal", "User:somebody"]) == 0
    assert capsys.readouterr().err == "note: none of the 27 ACLs passes these filters\n"


def test_one_long_name_does_not_widen_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["acls", str(BASIC.log_dir)]) == 0
    rows = [len(line) for line in capsys.readouterr().out.splitlines()]
    assert max(rows) > 300
    assert sorted(rows)[len(rows) // 2] < 200

"""``metalog lint``: sources, output formats, exit codes; the checks have tests of their own."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from authorizer.analysis.remedies.commands import CONNECTION
from shell.main import main
from tests.support.kafka.cases import DEMO

FILE = """\
acls:
  - principal: User:app
    operation: Read
    resourceType: Topic
    resourceName: "pay,ments*"
    expires: 2020-01-31
    owner: team
  - {principal: User:app, operation: Read, resourceType: Group, resourceName: g, owner: team}
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "a:cls.yaml").write_text(FILE)
    return str(tmp_path / "a:cls.yaml")


def test_a_finding_in_a_file_has_its_place(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", path, "--json", "-q", "--super-users", ""]) == 1
    found = {line["check"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert set(found) == {"expired", "star-in-name"}
    assert (found["expired"]["file"], found["expired"]["line"]) == (path, 2)
    assert found["expired"]["acl"]["resourceName"] == "pay,ments*"
    assert found["expired"]["commands"] == [
        f"kafka-acls {CONNECTION} --remove --force --allow-principal User:app "
        "--operation Read --topic 'pay,ments*'"
    ]


def test_github_gets_one_command_for_each_finding(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """https://docs.github.com/actions: % : , are escaped in properties, % in the message."""
    assert main(["lint", path, "-o", "github", "--only", "expired"]) == 1
    place = path.replace(":", "%3A")
    assert capsys.readouterr().out == (
        f"::error file={place},line=2,col=5,title=metalog lint%3A expired::ALLOW User:app READ on "
        "topic pay,ments* from any host: it expired on 2020-01-31\n"
    )


def test_sarif_has_the_keys_that_code_scanning_asks_for(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", path, "-o", "sarif"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["version"] == "2.1.0"
    [run] = report["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        physical = result["locations"][0]["physicalLocation"]
        assert physical["artifactLocation"]["uri"].endswith("a%3Acls.yaml")
        assert physical["region"] == {"startLine": 2, "startColumn": 5}


def test_junit_has_a_case_for_each_check(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", path, "-o", "junit"]) == 1
    suite = ElementTree.fromstring(capsys.readouterr().out).find("testsuite")
    assert suite is not None
    by_name = {case.get("name"): [child.tag for child in case] for case in suite}
    assert by_name["expired"] == by_name["star-in-name"] == ["failure"]
    assert by_name["unknown-topic"] == ["skipped"]
    assert by_name["everyone"] == []
    assert suite.get("tests") == str(len(by_name))


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--only", "expired"], 1),
        (["--only", "expired", "--except", "expired"], 2),
        (["--only", "no-owner"], 0),
        (["--only", "expird"], 2),
    ],
)
def test_exit_codes(path: str, more: list[str], code: int) -> None:
    assert main(["lint", path, *more]) == code


def test_what_is_less_than_fail_on_passes(capsys: pytest.CaptureFixture[str]) -> None:
    only = ["--only", "open-ended-prefix", "--only", "all-topics"]
    log = str(DEMO / "log-dir")
    codes = [main(["lint", log, *only, "--fail-on", each]) for each in ("info", "warning", "error")]
    assert codes == [1, 1, 0]


def test_an_acl_that_stands_twice_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = "  - {principal: User:app, operation: Read, resourceType: Topic, resourceName: t}\n"
    (tmp_path / "twice.yaml").write_text("acls:\n" + 2 * entry)
    assert main(["lint", str(tmp_path / "twice.yaml"), "--only", "bound-twice"]) == 1
    assert "it is listed in 2 places" in capsys.readouterr().out

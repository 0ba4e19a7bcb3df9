"""``metalog test`` asks the same as ``can``, and reports mistakes with their position."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from metalog.acl import SUPPORTED_OPERATIONS, ResourceType
from metalog.errors import InvalidRequest
from metalog_sources.formats import document
from shell.arguments.yaml_files.expectations import Expected, read_expectations
from shell.main import main
from tests.support.kafka.cases import DEMO, REPOSITORY

LOG = str(DEMO / "log-dir")
CONFIG = ("--config", str(DEMO / "server.properties"))
PAGE = REPOSITORY / "docs" / "formats" / "expectations.md"
FAILING = """\
allow:
  - {principal: User:billing, operation: [read, WRITE], resource: topic:payments, comment: why}
deny:
  - {principal: User:billing, operation: Read, resource: topic:payments, rule: MatchingAcl}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "expected.yaml"
    path.write_text(FAILING)
    return path


def test_each_combination_is_asked_as_can_is_asked(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["test", LOG, str(path), *CONFIG, "--json", "-q"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["operation"], line["expected"], line["met"]) for line in lines] == [
        ("READ", "ALLOWED", False),
        ("WRITE", "ALLOWED", False),
        ("READ", "DENIED", False),
    ]
    for line in lines:
        question = [line["principal"], line["operation"], f"topic:{line['resourceName']}"]
        main(["can", LOG, *question, *CONFIG, "--json", "-q"])
        answer = json.loads(capsys.readouterr().out)
        assert {key: line[key] for key in ("result", "rule", "acl")} == {
            key: answer[key] for key in ("result", "rule", "acl")
        }


def test_all_is_every_operation_that_is_ever_asked(tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text("deny:\n  - {principal: User:a, operation: All, resource: group:g}\n")
    read = read_expectations([str(path)])
    asked = {each.expectation.question.operation for each in read if isinstance(each, Expected)}
    assert asked == SUPPORTED_OPERATIONS[ResourceType.GROUP]


def test_a_failure_is_told_to_build_servers(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", LOG, str(path), *CONFIG, "-o", "github"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[1] for line in lines] == ["line=2", "line=2", "line=4"]
    assert all(line.startswith(f"::error file={path},") for line in lines)
    assert main(["test", LOG, str(path), *CONFIG, "-o", "junit"]) == 1
    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert (suite.get("tests"), suite.get("failures")) == ("3", "3")
    assert len(list(suite.iter("failure"))) == 3


def test_the_right_answer_for_another_reason_is_not_met(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["test", LOG, str(path), *CONFIG]) == 1
    printed = capsys.readouterr().out
    assert "is DENIED as expected, but by DefaultDeny, not MatchingAcl" in printed
    assert "3 of 3 expectations are not met." in printed
    [command, *_] = re.findall(r"^  metalog (explain .*)$", printed, re.MULTILINE)
    assert main([*command.split(), *CONFIG]) == 0


def test_a_denial_of_a_name_that_nobody_has_is_pointed_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "typo.yaml"
    path.write_text("deny:\n  - {principal: User:biling, operation: Read, resource: topic:pay}\n")
    assert main(["test", LOG, str(path), *CONFIG]) == 0
    assert "line 2, column 5: no ACL and no SCRAM user has the principal User:biling" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("alow: []", "line 1, column 1: unknown key 'alow'"),
        (
            "allow:\n  - {principal: User:a, operation: Read}",
            "line 2, column 5: an expectation has",
        ),
        ("allow:\n  - {principal: a, operation: Read, resource: topic:t}", "line 2, column 17"),
        ("deny:\n  - {principal: User:a, operation: Raed, resource: topic:t}", "line 2, column 36"),
        ("deny:\n  - {principal: User:a, operation: Read, resource: t}", "line 2, column 52"),
        (
            "deny:\n  - {principal: User:a, operation: Read, resource: topic:t, rule: SuperUser}",
            "no rule 'SuperUser' of deny",
        ),
        ("allow: []", "has no expectations"),
        ("{", "not YAML"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(InvalidRequest) as caught:
        read_expectations([str(path)])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_arguments_in_the_wrong_order_are_pointed_out(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["test", str(path), "@demo"]) == 2
    assert "write metalog test @demo FILE" in capsys.readouterr().err


def test_the_page_of_the_format_can_be_read(tmp_path: Path) -> None:
    found: list[Any] = re.findall(
        r"^```yaml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S
    )
    assert found
    for number, text in enumerate(found):
        (tmp_path / f"{number}.yaml").write_text(text)
    assert read_expectations([str(tmp_path)])


def test_a_small_file_means_no_more_questions_than_a_file_of_acls_means_acls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists of a thousand are a billion combinations in a few kilobytes."""
    path = tmp_path / "many.yaml"

    def entry(count: int) -> str:
        names = [f"{{0}}{number}" for number in range(count)]
        lists = {"principal": "User:a", "resource": "topic:t", "host": "h"}
        found = {key: [name.format(text) for name in names] for key, text in lists.items()}
        return json.dumps({"operation": "Read", **found})

    path.write_text(f"deny:\n- {entry(1_000)}\n")
    with pytest.raises(InvalidRequest, match=r"line 2.*expands to more than 100,000 questions"):
        read_expectations([str(path)])
    monkeypatch.setattr(document, "MOST_ENTRIES", 100)
    path.write_text(f"deny:\n- {entry(4)}\n- {entry(4)}\n")
    with pytest.raises(InvalidRequest, match=r"line 3.*expands to more than \d+ questions"):
        read_expectations([str(path)])
    path.write_text(f"deny:\n- {entry(4)}\n")
    assert len(read_expectations([str(path)])) == 64

"""The reading verbs on files of ACLs: their answers, and what they report as unavailable."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from metalog_sources.source_kinds import LOGS
from shell.main import main

FILE = """\
acls:
  - {principal: User:app, operation: Read, resourceType: Topic, resourceName: payments}
users:
  - {user: app, mechanism: SCRAM_SHA_512, iterations: 8192}
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "acls.yaml").write_text(FILE)
    return str(tmp_path / "acls.yaml")


def test_csv_is_inert_in_a_spreadsheet_and_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in the pipeline's report: a client's name never computes anything."""
    names = {"-1+1": "'-1+1", "a\x1b[2J": "'a\\u001b[2J", "plain": "plain"}
    acls = [
        {"principal": "User:a", "operation": "Read", "resourceType": "Group", "resourceName": name}
        for name in names
    ]
    source = tmp_path / "odd.jsonl"
    source.write_text("".join(json.dumps(acl) + "\n" for acl in acls))
    assert main(["acls", str(source), "-o", "csv", "-q"]) == 0
    rows = csv.DictReader(capsys.readouterr().out.splitlines())
    assert {row["resourceName"] for row in rows} == set(names.values())


def test_acls_have_no_ids(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["acls", path, "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert (line["id"], line["principal"], line["host"]) == ("", "User:app", "*")


def test_users(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["users", path]) == 0
    assert capsys.readouterr().out.split() == ["app", "SCRAM-SHA-512", "8192", "iterations"]


@pytest.mark.parametrize(("operation", "code"), [("Read", 0), ("Write", 1)])
def test_can_and_explain(
    path: str, operation: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    question = [path, "User:app", operation, "topic:payments", "--super-users", ""]
    assert main(["can", *question, "--json"]) == code
    answer = json.loads(capsys.readouterr().out)
    assert main(["explain", *question, "--json"]) == 0
    explained = json.loads(capsys.readouterr().out)
    assert explained["result"] == answer["result"] == ("ALLOWED", "DENIED")[code]
    assert explained["since"] is None
    assert code == 1 or answer["acl"]["id"] is None
    assert main(["explain", *question]) == 0


@pytest.mark.parametrize("verb", ["status", "dump", "shell"])
def test_a_verb_that_needs_a_log_says_so(
    path: str, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, path]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"metalog: {LOGS.refusal('file', path)}\n"


@pytest.mark.parametrize(
    ("options", "surplus"), [(["--at", "5"], "the moment"), (["--committed"], "--committed")]
)
def test_an_option_that_needs_a_log_says_so(
    path: str, options: list[str], surplus: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["acls", path, *options]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        f"metalog: {path}: not a log: it has only the present state, without offsets and history; "
        f"leave out {surplus}, or give a log\n"
    )


def test_a_store_tells_nothing_of_topics_without_acls(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["can", path, "User:app", "Read", "topic:orders"]) == 1
    said = capsys.readouterr().err
    assert "no ACL reaches topic orders" in said
    assert "there is no topic" not in said

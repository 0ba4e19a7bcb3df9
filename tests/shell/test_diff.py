"""``metalog diff``: two sources or two moments, without ids and without secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shell.main import main
from tests.support.kafka.cases import DEMO, kafka_case

LOG = str(DEMO / "log-dir")
Lines = list[dict[str, Any]]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Lines:
    assert main([*arguments, "--json", "-q"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def keyed(lines: Lines) -> set[tuple[Any, ...]]:
    """ACLs without their ids, which a diff does not look at."""
    leave = ("id", "change")
    return {tuple(value for key, value in line.items() if key not in leave) for line in lines}


@pytest.mark.parametrize(("start", "end"), [("0", "130"), ("130", "179"), ("179", "130")])
def test_a_difference_leads_from_one_moment_to_the_other(
    start: str, end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [
        line
        for line in printed(capsys, "diff", LOG, "--from", start, "--to", end)
        if "resourceName" in line
    ]
    before = keyed(printed(capsys, "acls", LOG, "--at", start))
    after = keyed(printed(capsys, "acls", LOG, "--at", end))
    assert keyed([line for line in found if line["change"] == "add"]) == after - before
    assert keyed([line for line in found if line["change"] == "remove"]) == before - after


def test_users_are_compared_and_no_secret_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    users = [line for line in printed(capsys, "diff", LOG, "--from", "140") if "user" in line]
    assert [(each["change"], each["user"]) for each in users] == [
        ("change", "billing"),
        ("remove", "contractor"),
    ]
    assert set(users[0]) == {"change", "user", "mechanism", "iterationsBefore", "iterations"}


@pytest.mark.shows_credentials
def test_a_new_password_is_a_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = []
    for number, key in enumerate(("c2FsdA==", "b3RoZXI=")):
        path = tmp_path / f"{number}.yaml"
        path.write_text(
            "users:\n  - {user: a, mechanism: SCRAM_SHA_512, iterations: 4096, "
            f"salt: {key}, storedKey: {key}, serverKey: {key}}}\n"
        )
        sources.append(str(path))
    assert main(["diff", *sources, "--exit-code"]) == 1
    out = capsys.readouterr().out
    assert "user a SCRAM-SHA-512: another password" in out
    assert "c2FsdA" not in out


def test_an_export_does_not_differ_from_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(kafka_case("basic-4.3").log_dir)
    assert main(["export", log, "-o", "yaml"]) == 0
    path = tmp_path / "all.yaml"
    path.write_text(capsys.readouterr().out)
    assert main(["diff", log, str(path), "--exit-code"]) == 0
    assert capsys.readouterr().out == "No difference.\n"
    assert main(["diff", str(path), log, "--from", "3"]) == 2


def test_commands_make_the_other_of_the_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kafka-acls' own reading of them, by the reader of its commands."""
    assert main(["diff", LOG, LOG, "--from", "0", "-o", "commands", "-q"]) == 0
    path = tmp_path / "acls.sh"
    path.write_text(capsys.readouterr().out)
    assert main(["diff", str(path), LOG, "--exit-code", "-q"]) == 0


def test_commands_take_nothing_away_that_they_cannot_give_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kafka-acls trims its values, so that it cannot add a name that begins with a blank."""
    texts = []
    for name in ("orders", " orders"):
        acl = (
            f"{{principal: User:app, operation: READ, resourceType: TOPIC, resourceName: '{name}'}}"
        )
        path = tmp_path / f"{len(name)}.yaml"
        path.write_text(f"acls:\n  - {acl}\n")
        texts.append(str(path))
    assert main(["diff", *texts, "-o", "commands"]) == 0
    done = capsys.readouterr()
    assert done.out == ""
    assert "no command can add ALLOW User:app READ on topic" in done.err
    assert "left out: 1 command, which alone would take away" in done.err
    assert main(["diff", *reversed(texts), "-o", "commands"]) == 0
    done = capsys.readouterr()
    assert "--add" in done.out
    assert "no command can remove" in done.err


def test_what_has_nothing_to_compare_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", LOG]) == 2
    assert "--from MOMENT" in capsys.readouterr().err
